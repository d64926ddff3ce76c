"""What was built and why, and the end of building."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError


def make_scale(target):
    @tile.jit(target=target)
    def scale(A, factor=2.0):
        M = T.const("M")
        A: T.Tensor((M,), T.float32)
        B = T.empty((M,), T.float32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(M):
                B[i] = A[i] * factor
        return B

    return scale


def ones(n, kind=np.float32):
    return np.ones(n, kind)


def test_variants_say_what_was_built_and_why(oracle):
    scale = make_scale(oracle)
    assert len(scale.variants()) == 0
    scale(ones(4))
    scale(ones(4), factor=3.0)
    scale.compile(M=6)
    scale.compile(M=6)
    rows = scale.variants().rows
    assert [r.parameters for r in rows] == [
        "A: float32[4], B: float32[4]",
        "A: float32[4], B: float32[4]",
        "A: float32[6], B: float32[6]",
    ]
    assert [r.why.partition("; ")[2] for r in rows] == [
        "for factor=2.0, M=4, A=float32",
        "for factor=3.0, M=4, A=float32",
        "for factor=2.0, M=6",
    ]
    assert [r.source for r in rows] == ["compiled"] * 3
    assert [r.reused for r in rows] == [0, 0, 1]
    assert all(r.seconds > 0 and len(r.key) == 40 and r.name == "scale" for r in rows)
    assert len({r.key for r in rows}) == 3
    again = make_scale(oracle)
    again(ones(4))
    assert [r.source for r in again.variants()] == ["disk"]
    assert again.variants()[0].key == rows[0].key


def test_variants_are_a_table(oracle):
    scale = make_scale(oracle)
    scale(ones(4))
    head, row = str(scale.variants()).splitlines()
    names = ["name", "parameters", "target", "why", "source", "seconds", "reused", "key"]
    assert head.split() == names
    assert row.startswith("scale  A: float32[4], B: float32[4]  oracle")
    assert head.index("why") == row.index("plain: ")


def test_a_frozen_function_runs_what_was_built_and_names_what_was_not(oracle, toolchain):
    scale = make_scale(oracle)
    scale(ones(4))
    scale.compile(M=6)
    assert scale.freeze() is scale
    np.testing.assert_array_equal(scale(ones(4)), np.full(4, 2))
    np.testing.assert_array_equal(scale(ones(6)), np.full(6, 2))  # compiled without its arrays
    before = toolchain.compiled
    with pytest.raises(TileError, match=r"variant for A: float32\[5\], B: float32\[5\]") as found:
        scale(ones(5))
    assert found.value.code == "E2404"
    assert found.value.notes == (
        "built: A: float32[4], B: float32[4]",
        "built: A: float32[6], B: float32[6]",
    )
    with pytest.raises(TileError, match="E2404"):
        scale(ones(4), factor=5.0)
    with pytest.raises(TileError, match="E2404"):
        scale.par_compile([{"M": 7}, {"M": 8}])
    assert toolchain.compiled == before


def test_a_frozen_kernel_does_not_build_its_plain_variant(monkeypatch, oracle):
    from dataclasses import replace

    class Demanding(oracle.toolchain):
        pass

    def emit(fn, spec, plan=None):
        made = oracle.emit(fn, spec, plan)
        asks = 16 if spec.access_bytes != (1,) else 1
        object.__setattr__(made, "alignments", tuple(asks for _ in fn.params))
        return made

    target = replace(oracle, emit=emit, toolchain=Demanding)
    kernel = make_scale(target).compile(M=4)
    assert kernel.has_plain
    odd = np.frombuffer(bytearray(64), np.float32, 4, offset=4)
    if odd.ctypes.data % 16 == 0:
        odd = np.frombuffer(bytearray(64), np.float32, 4, offset=8)
    kernel.freeze()
    with pytest.raises(TileError, match="its variant plain was not built") as found:
        kernel(odd)
    assert found.value.code == "E2404"
    assert len(kernel.variants()) == 1
    fresh = make_scale(target).compile(M=4)
    np.testing.assert_array_equal(fresh(odd), np.zeros(4))
    assert [r.why.partition(":")[0] for r in fresh.freeze().variants()] == ["aligned", "plain"]
    np.testing.assert_array_equal(fresh(odd), np.zeros(4))  # built before
