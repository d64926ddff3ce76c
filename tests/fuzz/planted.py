"""Mistakes that compilers of tiles have made, each planted behind the pass that made it."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

from tile_ir import build
from tile_ir import expr as ex
from tile_ir.core import Function
from tile_ir.expr import Binary, Cast, Const
from tile_ir.ops import Alloc, Channel, Copy, Fill, For, Gemm, Release, Store, Sync
from tile_ir.rewrite import map_all_exprs, map_exprs, map_stmts, with_body
from tile_passes.pipeline import Pipeline, Step


@dataclass(frozen=True)
class Planted:
    """A pass, what it does wrong, and a target whose pipeline has it."""

    name: str
    where: str
    target: str
    wrong: Callable[[Function], Function]
    within: int = 200
    """Programs among which it has to be found."""

    def into(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline with the mistake in it."""
        return Pipeline(tuple(map(self._step, pipeline.steps)))

    def _step(self, step: Step) -> Step:
        right = step.run
        if right.name != self.where:
            return step
        mutant = dataclasses.replace(
            right, rewrite=lambda fn, cx, plan: self.wrong(right.rewrite(fn, cx, plan))
        )
        return dataclasses.replace(step, run=mutant)


def once(change):
    """A rewrite of the first statement that `change` has an answer for."""

    def rewrite(fn):
        done = []

        def visit(s):
            made = None if done else change(s)
            if made is not None:
                done.append(s)
            return made

        return with_body(fn, map_stmts(fn.body, visit))

    return rewrite


def everywhere(change):
    """A rewrite of every expression that `change` has an answer for."""

    def rewrite(fn):
        memo = {}
        return with_body(fn, map_all_exprs(fn.body, lambda e: ex.rewrite(e, change, memo)))

    return rewrite


@once
def dropped_clip(s):
    if isinstance(s, (Copy, Store)) and s.clip:
        return dataclasses.replace(s, clip=False)
    return None


@once
def wrong_init(s):
    if isinstance(s, Gemm) and isinstance(s.init, Binary) and s.init.op == "eq":
        return dataclasses.replace(s, init=build.eq(s.init.a, build.add(s.init.b, 1)))
    return None


def short_ring(fn):
    def change(s):
        if isinstance(s, Channel) and s.depth > 1:
            return dataclasses.replace(s, depth=s.depth - 1)
        if isinstance(s, Alloc) and s.buffer.slots > 1:
            shorter = dataclasses.replace(s.buffer, slots=s.buffer.slots - 1)
            return dataclasses.replace(s, buffer=shorter)
        return None

    return with_body(fn, map_stmts(fn.body, change))


@once
def missing_sync(s):
    return () if isinstance(s, Sync) else None


@once
def swapped_stage(s):
    if not isinstance(s, For):
        return None
    gone = [inner for inner in s.body if isinstance(inner, Release)]
    if not gone or not any(isinstance(inner, Gemm) for inner in s.body):
        return None
    kept = [inner for inner in s.body if inner not in gone]
    at = next(n for n, inner in enumerate(kept) if isinstance(inner, Gemm))
    return dataclasses.replace(s, body=(*kept[:at], *gone, *kept[at:]))


@everywhere
def lost_conversion(e):
    sides = (e.a, e.b) if isinstance(e, Binary) and e.op == "mul" else ()
    if len(sides) == 2 and all(isinstance(x, Cast) and x.dtype.is_float for x in sides):
        narrow = [x.a for x in sides]
        if narrow[0].dtype is narrow[1].dtype and narrow[0].dtype.is_float:
            return build.cast(build.mul(*narrow), e.dtype)
    return None


@everywhere
def wrong_identity(e):
    if isinstance(e, Const) and e.dtype.is_float and e.value == -math.inf:
        return build.const(0.0, e.dtype)
    return None


@once
def wrong_split(s):
    if isinstance(s, For) and isinstance(s.stop, Binary) and s.stop.op == "ceildiv":
        return dataclasses.replace(s, stop=build.floordiv(s.stop.a, s.stop.b))
    return None


@once
def missing_tail(s):
    if isinstance(s, For) and isinstance(s.start, Binary) and s.start.op == "mul":
        return ()
    return None


@once
def wrong_swizzle(s):
    def other(e):
        return build.bit_or(e.a, e.b) if isinstance(e, Binary) and e.op == "xor" else None

    if isinstance(s, Store):
        made = map_exprs(s, lambda e: ex.rewrite(e, other, {}))
        return None if made.indices == s.indices else dataclasses.replace(s, indices=made.indices)
    return None


@everywhere
def wrong_comparison(e):
    return build.le(e.a, e.b) if isinstance(e, Binary) and e.op == "lt" else None


@once
def live_fill_removed(s):
    return () if isinstance(s, Fill) else None


GPU, CPU = "cuda -arch=sm_80", "cpu -arch=x86-64-v3"
PLANTED = (
    Planted("a dropped clip", "bounds", GPU, dropped_clip),
    Planted("a wrong init of a product", "init-gemm", GPU, wrong_init),
    Planted("a ring one slot short", "expand-pipeline", GPU, short_ring),
    Planted("a missing barrier", "lower-threads", GPU, missing_sync),
    Planted("a slot released before its use", "expand-pipeline", GPU, swapped_stage),
    Planted("a lost conversion", "lower-threads", GPU, lost_conversion),
    Planted("a wrong reduction identity", "lower-tiles", CPU, wrong_identity),
    Planted("a wrong split of trips", "lower-mma", CPU, wrong_split),
    Planted("no tail of a vector loop", "vectorize", CPU, missing_tail),
    Planted("a wrong swizzle", "lower-threads", GPU, wrong_swizzle),
    Planted("a wrong comparison", "simplify", GPU, wrong_comparison),
    Planted("a live fill removed", "dead-buffers", CPU, live_fill_removed),
)
