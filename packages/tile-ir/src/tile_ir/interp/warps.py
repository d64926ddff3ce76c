"""The meaning of exchanges and reductions in warps: permutations of an axis of threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.diag import TileError
from tile_ir.interp.arith import array_op
from tile_ir.interp.compiler import rule
from tile_ir.interp.compute import checked, define
from tile_ir.interp.regions import reading, writing
from tile_ir.interp.threads import lane_bits
from tile_ir.ops import Shuffle, WarpReduce

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env
    from tile_ir.interp.storage import Array

_OPERATORS = {"sum": "add", "ballot": "or"}


def _by_warps(env: Env, x: Array) -> Array:
    """The values of each warp as a row."""
    if x.size % env.run.warp:
        raise TileError(
            "E0512",
            f"{x.size} threads are no whole warps of {env.run.warp}",
            help="launch the kernel with a multiple of the warp's width",
        )
    rows: Array = x.reshape(-1, env.run.warp)
    return rows


@rule(Shuffle)
def shuffle(cx: Compiler, s: Shuffle) -> Callable[[Env], None]:
    """Each lane gets the value of the lane that it names."""
    src, by, dst = reading(cx, s.src), reading(cx, s.by), writing(cx, s.dst)

    def run(env: Env) -> None:
        rows = _by_warps(env, checked(env, src))
        lanes = _by_warps(env, checked(env, by)) % env.run.warp
        target = dst.view(env)
        target[...] = np.take_along_axis(rows, lanes, axis=1).reshape(target.shape)
        define(env, dst)

    return run


@rule(WarpReduce)
def warp_reduce(cx: Compiler, s: WarpReduce) -> Callable[[Env], None]:
    """Halves of each warp combined until one value is left, which all lanes get."""
    src, dst = reading(cx, s.src), writing(cx, s.dst)
    kind = _OPERATORS.get(s.kind, s.kind)
    combine: Callable[[Any, Any], Any] = array_op(kind, dst.dtype)

    def run(env: Env) -> None:
        rows = _by_warps(env, checked(env, src))
        if s.kind == "ballot":
            rows = lane_bits(rows)
        while rows.shape[1] > 1:
            half = rows.shape[1] // 2
            rows = combine(rows[:, :half], rows[:, half:])
        target = dst.view(env)
        target[...] = np.repeat(rows, env.run.warp).reshape(target.shape)
        define(env, dst)

    return run
