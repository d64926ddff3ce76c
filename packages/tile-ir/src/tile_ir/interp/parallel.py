"""The meaning of `parallel`: all iterations of the box at once, as axes of numpy arrays, where that
means the same.

Iterations are independent, so statement by statement over all of them is as good as one after
another. Bodies for which it is not run in sequence, in row-major order: those that leave loops, ask
for the value before an atomic update, have memory of their own, accumulate into one element from
several iterations, or loop differently in each.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.expr import Const, free_vars
from tile_ir.interp.compiler import rule
from tile_ir.numerics.array import to_numpy_dtype
from tile_ir.opdef import Access
from tile_ir.ops import Assert, Assume, Atomic, For, If, Let, Parallel, Store
from tile_ir.rewrite import all_effects, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.expr import Expr, Var
    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env
    from tile_ir.interp.storage import Array
    from tile_ir.opdef import Body, Stmt

_AT_ONCE = (Store, Let, If, For, Atomic, Assert, Assume, Parallel)


@rule(Parallel)
def parallel(cx: Compiler, s: Parallel) -> Callable[[Env], None]:
    """Every point of the box."""
    if cx.lane_axes or not at_once(s):
        return _in_sequence(cx, s)
    extents = [cx.expr(e) for e in s.extents]
    with cx.lanes(s.vars):
        body = cx.body(s.body).run
    names = [(v.name, to_numpy_dtype(v.dtype)) for v in s.vars]

    def run(env: Env) -> None:
        box = tuple([e(env) for e in extents])
        if min(box) <= 0:
            return
        env.box = box
        for k, (name, container) in enumerate(names):
            env.vars[name] = _grid(k, box[k], len(box), container)
        body(env)
        env.box = ()

    return run


def _in_sequence(cx: Compiler, s: Parallel) -> Callable[[Env], None]:
    extents = [cx.expr(e) for e in s.extents]
    with cx.fresh():
        body = cx.body(s.body).run
    names = [v.name for v in s.vars]

    def run(env: Env) -> None:
        for point in product(*(range(e(env)) for e in extents)):
            env.vars.update(zip(names, point, strict=True))
            body(env)

    return run


@lru_cache(maxsize=512)
def _grid(axis: int, extent: int, rank: int, container: np.dtype[Any]) -> Array:
    shape = tuple(extent if k == axis else 1 for k in range(rank))
    made = np.arange(extent, dtype=container).reshape(shape)
    made.flags.writeable = False
    return made


def at_once(s: Parallel) -> bool:
    """Whether the body may be evaluated for all iterations at once."""
    inner = tuple(walk(s.body))
    if not all(isinstance(t, _AT_ONCE) for t in inner):
        return False
    if any(isinstance(t, Atomic) and t.result is not None for t in inner):
        return False
    differing = _differing(s)
    return not any(_diverges(t, differing) for t in inner) and not _accumulates(s, inner)


def _differing(s: Parallel) -> set[Var]:
    """The variables that have another value in each iteration."""
    found = set(s.vars)
    for t in walk(s.body):
        if isinstance(t, Let) and free_vars(t.value) & found:
            found.add(t.var)
    return found


def _diverges(t: Stmt, differing: set[Var]) -> bool:
    bounds: tuple[Expr, ...] = ()
    if isinstance(t, For):
        bounds = (t.start, t.stop, t.step)
    elif isinstance(t, Parallel):
        bounds = t.extents
    return any(free_vars(e) & differing for e in bounds)


def _accumulates(s: Parallel, inner: Body) -> bool:
    """Whether several iterations store into one element that they also read."""
    spread = {
        v
        for v, e in zip(s.vars, s.extents, strict=True)
        if not (isinstance(e, Const) and e.value == 1)
    }
    read = {e.buffer for e in all_effects(s.body) if Access.READ in e.access}
    return any(
        isinstance(t, Store)
        and t.buffer in read
        and not spread <= frozenset[Any]().union(*(free_vars(i) for i in t.indices))
        for t in inner
    )
