"""`run`: execute a function of any stage on numpy arrays."""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import TYPE_CHECKING, Literal

import numpy as np

from tile_ir.core import Stage
from tile_ir.interp import (
    atoms,
    claims,
    compute,
    control,
    foreign,
    hardware,
    kernels,
    memory,
    parallel,
    sums,
    warps,
)
from tile_ir.interp import schedule as schedules
from tile_ir.interp.bind import bind, written
from tile_ir.interp.compiler import Compiler
from tile_ir.interp.machine import Block, Env, Session
from tile_ir.interp.scheduler import run_alone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function
    from tile_ir.expr import Expr
    from tile_ir.interp.compiler import Step
    from tile_ir.interp.storage import Array
    from tile_ir.target import TargetSpec

FAMILIES = (
    *(atoms, claims, compute, control, foreign, hardware, kernels, memory, parallel, schedules),
    *(sums, warps),
)
"""The modules whose import registers the rules of our ops."""

_KEEP = 64
_COMPILED: OrderedDict[int, tuple[Function, Compiler, Step, frozenset[str]]] = OrderedDict()
"""Functions compiled last, by identity; holding the function keeps its id from being used again."""


def _compiled(fn: Function) -> tuple[Compiler, Step, frozenset[str]]:
    found = _COMPILED.get(id(fn))
    if found is None:
        cx = Compiler(fn)
        found = _COMPILED[id(fn)] = (fn, cx, cx.body(fn.body), written(fn))
        if len(_COMPILED) > _KEEP:
            _COMPILED.popitem(last=False)
    return found[1:]


def evaluate(fn: Function, e: Expr, scalars: Mapping[str, int]) -> int:
    """The value of an index expression of `fn` for given dimensions and scalar parameters."""
    session = Session(late=True, debug=True, strict=True, workers=1, reverse=False, random=None)
    env = Env(session)
    env.vars.update(scalars)
    return int(Compiler(fn).expr(e)(env))


def run(
    fn: Function,
    args: Mapping[str, Array | bool | int | float],
    *,
    schedule: Literal["late", "issue"] = "late",
    order: Literal["forward", "reverse"] = "forward",
    seed: int | None = None,
    debug: bool = True,
    strict: bool | None = None,
    workers: int = 2,
    target: TargetSpec | None = None,
    lines: list[str] | None = None,
) -> dict[str, Array]:
    """Execute a function: its results and every buffer it writes, by name. No argument is modified.

    Args:
        fn: a function of any stage.
        args: for each parameter, by name, an array in the container of its dtype (see
            `tile_ir.numerics.array.to_numpy_dtype`; the lanes of a vector dtype are a last axis),
            or a number for a scalar. Parameters that are results may be left out and start
            undefined. Symbolic dimensions follow from shapes and strides; one that does not may be
            given by name.
        schedule: when asynchronous operations happen: as "late" as the program allows, or at their
            "issue". A right program gives the same for both.
        order: of tiles; row-major with the first variable fastest, or the reverse.
        seed: shuffle tiles and the turns of roles instead.
        debug: check bounds of what does not clip, and reads of memory that was never written.
        strict: whether a read outside global memory is an error too. By default it is after stage
            `tile`, where such a read still means the safe value: from then on guards are explicit.
        workers: what the function `device_workers` gives.
        target: the description that gives matrix instructions on registers their meaning, and the
            width of a warp (32 without it); wanted at stage `simt` only.
        lines: takes the lines that `print` statements write, which otherwise go to standard output.

    Raises:
        TileError: E0501 to E0510, at the statement that is wrong.
    """
    cx, body, changed = _compiled(fn)
    session = Session(
        late=schedule == "late",
        debug=debug,
        strict=fn.stage is not Stage.TILE if strict is None else strict,
        workers=workers,
        reverse=order == "reverse",
        random=None if seed is None else random.Random(seed),
        target=target,
        warp=32 if target is None or target.warp_width == 1 else target.warp_width,
        lines=[] if lines is None else lines,
    )
    env = Env(session)
    with np.errstate(all="ignore"):
        bind(cx, args, changed, env)
        run_alone(body, env, Block())
    if lines is None:
        for line in session.lines:
            print(line)
    wanted = dict.fromkeys([*fn.results, *(p.name for p in fn.params if p.name in changed)])
    return {name: env.bufs[name].array for name in wanted}
