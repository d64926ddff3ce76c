"""Which elements an access touches: numpy slices where the indices allow it, index arrays where
not.

Most accesses of a `parallel` box use each of its variables at most once, as `c * v + uniform`; then
the elements of all lanes are a strided slice, which costs a hundredth of gathering them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.diag import TileError
from tile_ir.expr import Binary, Cast, Const, Expr, Ramp, Var
from tile_ir.interp.threads import THREAD, THREAD_INDEX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_ir.core import Buffer
    from tile_ir.expr import Slot
    from tile_ir.interp.context import Context
    from tile_ir.interp.machine import Env, Eval
    from tile_ir.interp.storage import Array, Storage

LANES = -1
"""In place of an axis of the box: the lanes of a vector access."""

Index = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """One index as start + step * (position on axis `axis` of the box); `axis` None is uniform."""

    axis: int | None
    step: int
    start: Eval


def _zero(env: Env) -> int:
    return 0


def axis_of(cx: Context, e: Expr) -> Axis | None:
    """The index in the form of `Axis`, None when it has another."""
    if not cx.is_array(e):
        return Axis(None, 1, cx.expr(e))
    if isinstance(e, Var):
        axis = cx.lane_axes.get(e)
        return None if axis is None else Axis(axis, 1, _zero)
    if e is THREAD_INDEX:
        axis = cx.lane_axes.get(THREAD)
        return None if axis is None else Axis(axis, 1, _zero)
    if isinstance(e, Cast) and e.a.dtype.is_int and e.dtype.bits >= e.a.dtype.bits:
        return axis_of(cx, e.a)
    if isinstance(e, Ramp) and not cx.is_array(e.base) and e.stride > 0:
        return Axis(LANES, e.stride, cx.expr(e.base))
    return _affine(cx, e) if isinstance(e, Binary) else None


def _affine(cx: Context, e: Binary) -> Axis | None:
    if e.op not in ("add", "sub", "mul") or e.dtype.lanes > 1:
        return None
    a, b = axis_of(cx, e.a), axis_of(cx, e.b)
    if a is None or b is None or (a.axis is not None and b.axis is not None):
        return None
    if e.op == "add":
        moved, by = (a, b.start) if b.axis is None else (b, a.start)
        return Axis(moved.axis, moved.step, _added(moved.start, by, 1))
    if e.op == "sub":
        return None if b.axis is not None else Axis(a.axis, a.step, _added(a.start, b.start, -1))
    scaled, factor = (a, e.b) if b.axis is None else (b, e.a)
    if not isinstance(factor, Const) or int(factor.value) <= 0:
        return None
    return Axis(scaled.axis, scaled.step * int(factor.value), _scaled(scaled.start, factor))


def _added(a: Eval, b: Eval, sign: int) -> Eval:
    if a is _zero and sign > 0:
        return b
    return lambda env: a(env) + sign * b(env)


def _scaled(a: Eval, factor: Const) -> Eval:
    value = factor.value
    return a if a is _zero else lambda env: a(env) * value


@dataclass(frozen=True, slots=True)
class Box:
    """The indices of an access as slices, and how the elements they give line up with the axes of
    the box.
    """

    axes: tuple[Axis, ...]
    order: tuple[int, ...] | None
    spread: Index | None
    complete: bool
    """Whether every axis of the box occurs, so that no two lanes meet in an element."""
    lanes: int

    def slices(self, env: Env, shape: Sequence[int]) -> Index | None:
        """The numpy index, or None when an element would lie outside `shape`."""
        out: list[Any] = []
        box = env.box
        for a, extent in zip(self.axes, shape):  # noqa: B905 -- a vector buffer has its lanes as one more axis
            start = a.start(env)
            if a.axis is None:
                if not 0 <= start < extent:
                    return None
                out.append(start)
                continue
            count = self.lanes if a.axis == LANES else box[a.axis]
            stop = start + a.step * (count - 1) + 1
            if start < 0 or stop > extent:
                return None
            out.append(slice(start, stop, a.step))
        return tuple(out)

    def arrange(self, found: Any) -> Any:
        """The elements with the axes of the box in order, extent 1 where an axis does not occur."""
        if self.order is not None:
            found = found.transpose(self.order)
        return found if self.spread is None else found[self.spread]


def match_box(cx: Context, indices: Sequence[Expr], vector: int) -> Box | None:
    """The slices of an access of `vector` lanes, None when its indices have another form."""
    axes = []
    for e in indices:
        axis = axis_of(cx, e)
        if axis is None:
            return None
        axes.append(axis)
    used = [a.axis for a in axes if a.axis is not None]
    rank = len(cx.lane_axes)
    if len(set(used)) != len(used) or (LANES in used) != (vector > 1 and bool(indices)):
        return None
    return _box(tuple(axes), [rank if a == LANES else a for a in used], rank, vector)


def _box(axes: tuple[Axis, ...], used: list[int], rank: int, vector: int) -> Box:
    order = tuple(int(i) for i in np.argsort(used)) if used else ()
    present = set(used)
    full = rank + (rank in present)
    spread = tuple(slice(None) if k in present else None for k in range(full))
    return Box(
        axes=axes,
        order=None if order == tuple(range(len(used))) else order,
        spread=None if all(s is not None for s in spread) or not used else spread,
        complete=present >= set(range(rank)),
        lanes=vector,
    )


def outside(name: str, what: str, index: object, shape: Sequence[int]) -> TileError:
    """The error for an access that nothing allows outside its buffer."""
    return TileError(
        "E0502",
        f"{what} of {name} at {index}, outside its shape {list(shape)}",
        help="guard the access, or mark a statement on global memory `clip`",
    )


def check_lanes(indices: Index, shape: Sequence[int]) -> tuple[Index, Array | None]:
    """Indices moved into the buffer, and where they were outside (None: nowhere)."""
    bad: Any = None
    inside: list[Any] = []
    for i, extent in zip(indices, shape):  # noqa: B905 -- a vector buffer has its lanes as one more axis
        wrong = (i < 0) | (i >= extent) if not isinstance(i, int) else not 0 <= i < extent
        if np.any(wrong):
            bad = wrong if bad is None else np.logical_or(bad, wrong)
            i = np.clip(i, 0, max(extent - 1, 0))
        inside.append(i)
    return tuple(inside), None if bad is None else np.asarray(bad)


def first_bad(indices: Index, bad: Array) -> tuple[int, ...]:
    """The coordinates of the first lane where `bad` holds, for a message."""
    arrays = np.broadcast_arrays(bad, *indices)
    at = np.unravel_index(int(np.argmax(arrays[0])), arrays[0].shape)
    return tuple(int(a[at]) for a in arrays[1:])


def lane_indices(cx: Context, indices: Sequence[Expr], vector: int) -> Callable[[Env], Index]:
    """An evaluator of all indices as arrays that broadcast against each other, lanes of a vector
    last.
    """
    evals = [(cx.expr(e), vector > 1 and e.dtype.lanes == 1) for e in indices]

    def run(env: Env) -> Index:
        out = []
        for fn, scalar in evals:
            i = fn(env)
            out.append(i[..., None] if scalar and isinstance(i, np.ndarray) else i)
        return tuple(out)

    return run


def mask_over(mask: Array, over: Array) -> Array:
    """The mask of active lanes, with an axis for the lanes of a vector where `over` has one."""
    return mask[..., None] if over.ndim > mask.ndim else mask


def by_thread(env: Env, indices: Index, valid: Array | None) -> tuple[Index, Array]:
    """The indices of the lanes that count, one after another, and the thread of each.

    The lanes of a vector access come as one more axis behind the threads.
    """
    shape = np.broadcast_shapes(env.box, *(np.shape(i)[:1] for i in indices if np.ndim(i)))
    lanes = np.broadcast_shapes((*shape, 1), *(np.shape(i) for i in indices if np.ndim(i) > 1))
    if all(np.ndim(i) <= 1 for i in indices):
        lanes = shape
    ids = np.arange(lanes[0], dtype=np.int32)
    who = np.broadcast_to(ids[:, None] if len(lanes) > 1 else ids, lanes)
    spread = [np.broadcast_to(i, lanes) for i in indices]
    if valid is None:
        return tuple(i.reshape(-1) for i in spread), who.reshape(-1)
    keep = np.broadcast_to(valid if valid.ndim == len(lanes) else valid[..., None], lanes)
    return tuple(i[keep] for i in spread), who[keep]


def slot_of(buffer: Buffer, slot: Slot | None, end: str) -> Callable[[Env], int] | None:
    """The evaluator of the leading ring index of a buffer, None when it has none."""
    depth = buffer.slots
    if depth == 1:
        return None
    if slot is None:
        raise TileError(
            "E0508",
            f"{buffer.name} has {depth} slots, so an access names a channel",
            help=f"write {buffer.name}@channel[...], with the channel that carries the buffer",
        )
    return lambda env: env.slot(slot, end, depth)


def ring(
    storage: Storage, slot: Callable[[Env], int] | None, env: Env
) -> tuple[Array, Array | None]:
    """The memory of the slot that is meant, and which of its elements were written."""
    if slot is None:
        return storage.array, storage.defined
    k = slot(env)
    return storage.array[k], None if storage.defined is None else storage.defined[k]
