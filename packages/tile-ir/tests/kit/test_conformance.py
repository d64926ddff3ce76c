"""The conformance classes, on passes that are right and on passes that are not."""

import dataclasses

import numpy as np
import pytest

from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.expr import Binary
from tile_ir.interp import run
from tile_ir.ops import Copy, Gemm, Kernel
from tile_ir.rewrite import map_all_exprs, map_stmts, with_body
from tile_ir.testing.conformance import PassConformance
from tile_ir.testing.corpus import corpus
from tile_ir.testing.host_memory import call_on_host

SMALL = ("gemm_nn_f16", "gemm_i8", "rms_norm", "histogram", "strided")


def same(fn):
    return fn


def shift_kernels(fn):
    """Rename kernels once: a pass that changes every program and then rests."""

    def rename(s):
        done = not isinstance(s, Kernel) or s.name.endswith("_x")
        return None if done else dataclasses.replace(s, name=f"{s.name}_x")

    return with_body(fn, map_stmts(fn.body, rename))


def drop_clips(fn):
    return with_body(
        fn,
        map_stmts(
            fn.body, lambda s: dataclasses.replace(s, clip=False) if isinstance(s, Copy) else None
        ),
    )


def swap_operands(fn):
    def swap(s):
        return dataclasses.replace(s, a=s.b, b=s.a) if isinstance(s, Gemm) else None

    return with_body(fn, map_stmts(fn.body, swap))


def lose_spans(fn):
    return with_body(
        fn, map_stmts(fn.body, lambda s: dataclasses.replace(s, span=None) if s.span else None)
    )


def off_by_one(fn):
    def change(e):
        constant = isinstance(e, Binary) and e.op == "mul" and e.a.dtype.is_float
        return build.add(e, build.const(1.0, e.dtype)) if constant else None

    from tile_ir.expr import rewrite

    return with_body(fn, map_all_exprs(fn.body, lambda e: rewrite(e, change, {})))


def conformance(fn):
    class Made(PassConformance):
        samples = SMALL
        seeds = 8

        def apply(self, function):
            return fn(function)

    return Made()


class TestIdentity(PassConformance):
    samples = SMALL
    seeds = 8

    def apply(self, function):
        return same(function)


class TestRenaming(PassConformance):
    samples = SMALL
    seeds = 8

    def apply(self, function):
        return shift_kernels(function)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (lose_spans, "test_statements_keep_a_place"),
        (swap_operands, "test_the_result_is_valid"),
        (drop_clips, "test_samples_keep_their_meaning"),
        (drop_clips, "test_random_programs_keep_their_meaning"),
        (off_by_one, "test_samples_keep_their_meaning"),
        (off_by_one, "test_nothing_to_do_gives_the_same_object"),
    ],
)
def test_broken_passes_are_caught(broken, check):
    with pytest.raises((AssertionError, TileError)):
        getattr(conformance(broken), check)()


def test_host_memory_is_passed_by_address():
    import ctypes

    fn = corpus()["vector_add"].function
    args = corpus()["vector_add"].inputs({"n": 5})

    def launch(a, b, c, n):
        view = [
            np.ctypeslib.as_array(ctypes.cast(p, ctypes.POINTER(ctypes.c_float)), (n,))
            for p in (a, b, c)
        ]
        view[2][:] = view[0] + view[1]

    got = call_on_host(launch, fn, args)
    np.testing.assert_array_equal(got["C"], run(fn, args)["C"])
