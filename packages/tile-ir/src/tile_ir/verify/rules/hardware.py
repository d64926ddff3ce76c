"""Rules of barriers, bulk copies and matrix moves of one thread's program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.expr import Const
from tile_ir.ops.memory import ATOMIC_KINDS
from tile_ir.verify.rules.memory import EVICTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Buffer, Region
    from tile_ir.expr import Expr
    from tile_ir.opdef import Stmt
    from tile_ir.verify.context import Context

BARRIER_SCOPES = ("block", "cluster")
BARRIER_BYTES = 8
_COPY_BYTES = (4, 8, 16)
_MATRIX_ELEMENT_BITS = 16


def _barriers(s: ops.Barriers, cx: Context) -> None:
    cx.check_name(s.name)
    if s.name in cx.barriers or cx.symbols.find(s.name) is not None:
        cx.report("E0401", f"{s.name} is declared twice")
    if s.count < 1 or s.arrivals < 1:
        cx.report("E0467", f"{s.name} is {s.count} barriers of {s.arrivals} arrivals")
    if s.each and (len(s.each) != s.count or min(s.each) < 1):
        cx.report("E0467", f"the {s.count} barriers {s.name} have the arrivals {s.each}")
    if s.offset < 0 or s.offset % BARRIER_BYTES:
        cx.report("E0467", f"barriers {s.name} at byte {s.offset}, no multiple of {BARRIER_BYTES}")
    cx.choice(s.scope, BARRIER_SCOPES, "the scope of the barriers")
    cx.barriers[s.name] = s


def check_barrier(name: str, index: Expr, cx: Context) -> None:
    """Judge the barrier that a statement names by its array and index."""
    found = cx.barriers.get(name)
    if found is None:
        cx.report("E0402", f"there are no barriers {name} here")
    elif not index.dtype.is_int:
        cx.report("E0408", f"the number of a barrier of {name} is {index.dtype}, not an integer")
    elif isinstance(index, Const) and not 0 <= index.value < found.count:
        cx.report("E0467", f"there are {found.count} barriers {name}, and none is {index.value}")


def _arrive(s: ops.BarrierArrive, cx: Context) -> None:
    check_barrier(s.barrier, s.index, cx)
    found = cx.barriers.get(s.barrier)
    if s.peer is not None and found is not None and found.scope != "cluster":
        cx.report("E0467", f"blocks of the cluster do not arrive at {s.barrier}, of one block")


def _expect(s: ops.BarrierExpect, cx: Context) -> None:
    check_barrier(s.barrier, s.index, cx)
    if s.bytes < 1:
        cx.report("E0467", f"{s.bytes} bytes are expected at {s.barrier}")


def _copy_peer(s: ops.CopyPeer, cx: Context) -> None:
    if not s.peer.dtype.is_int:
        cx.report("E0408", f"the rank of a block is {s.peer.dtype}, not an integer")
    if s.index is not None:
        check_barrier(s.onto, s.index, cx)
    source = cx.buffer(s.src.buffer)
    own = source is not None and source.scope == "local"  # a thread sends what it has in registers
    _move(s.src, "local" if own else "shared", s.dst, "shared", cx)


def _wait(s: ops.BarrierWait, cx: Context) -> None:
    check_barrier(s.barrier, s.index, cx)
    if not s.parity.dtype.is_int:
        cx.report("E0408", f"a parity is {s.parity.dtype}, not an integer")


def _box_load(s: ops.BoxLoad, cx: Context) -> None:
    check_barrier(s.barrier, s.index, cx)
    cx.choice(s.eviction, EVICTIONS, "the eviction hint")
    _move(s.src, "global", s.dst, "shared", cx)


def _box_store(s: ops.BoxStore, cx: Context) -> None:
    _move(s.src, "shared", s.dst, "global", cx)
    if s.reduce:
        cx.choice(s.reduce, ATOMIC_KINDS, "the kind of reduction")


def _async_copy(s: ops.AsyncCopy, cx: Context) -> None:
    if s.where is not None:
        cx.condition(s.where, "where")
    found = _move(s.src, "global", s.dst, "shared", cx)
    *outer, last = s.dst.ranges
    if found is None or not all(_is(r.extent, (1,)) for r in outer):
        return
    sizes = tuple(8 * n // found.dtype.storage_bits for n in _COPY_BYTES)
    if not _is(last.extent, sizes):
        cx.report("E0467", f"async_copy moves {_COPY_BYTES} bytes along the last axis")


def _move(src: Region, home: str, dst: Region, to: str, cx: Context) -> Buffer | None:
    """Judge a move of equal boxes between two scopes; gives the destination if types agree."""
    a, b = cx.buffer(src.buffer), cx.buffer(dst.buffer)
    if a is None or b is None:
        return None
    if (a.scope, b.scope) != (home, to):
        cx.report("E0467", f"this moves from {home} to {to} memory, not {a.scope} to {b.scope}")
        return None
    if a.dtype is not b.dtype:
        cx.report("E0467", f"the move from {a.name} to {b.name} does not convert", f"{a.dtype}")
        return None
    if _box(src) != _box(dst):
        cx.report("E0467", f"the boxes of {a.name} and {b.name} differ")
    return b


def _box(region: Region) -> list[Expr]:
    return [r.extent for r in region.ranges if not _is(r.extent, (1,))]


def _register_limit(s: ops.RegisterLimit, cx: Context) -> None:
    if s.count < 1:
        cx.report("E0467", f"{s.count} registers for each thread")


def _matrix_load(s: ops.MatrixLoad, cx: Context) -> None:
    _matrices(s.row, s.dst, "matrix_load", cx)


def _matrix_store(s: ops.MatrixStore, cx: Context) -> None:
    _matrices(s.row, s.src, "matrix_store", cx)


def _matrices(row: Region, held: Region, name: str, cx: Context) -> None:
    memory, registers = (cx.buffer(r.buffer) for r in (row, held))
    if memory is None or registers is None:
        return
    scopes = (memory.scope, registers.scope)
    if scopes != ("shared", "local") or memory.dtype is not registers.dtype:
        way = "from shared to local" if name == "matrix_load" else "from local to shared"
        cx.report("E0465", f"{name} goes {way} memory, with elements of one type")
    if memory.dtype.storage_bits != _MATRIX_ELEMENT_BITS:
        cx.report("E0465", f"the matrices of {name} have 16-bit elements, not {memory.dtype}")
    *outer, last = row.ranges
    *_, taken = held.ranges
    if not (all(_is(r.extent, (1,)) for r in outer) and _is(last.extent, (8,))):
        cx.report("E0465", f"a row of {name} is 8 elements along the last axis")
    if not _is(taken.extent, (2, 4, 8)):
        cx.report("E0465", f"{name} takes 2 elements for each of 1, 2 or 4 matrices")


def _is(extent: Expr, values: tuple[int, ...]) -> bool:
    return isinstance(extent, Const) and extent.value in values


RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {
    ops.Barriers: _barriers,
    ops.BarrierArrive: _arrive,
    ops.BarrierExpect: _expect,
    ops.BarrierWait: _wait,
    ops.BoxLoad: _box_load,
    ops.CopyPeer: _copy_peer,
    ops.BoxStore: _box_store,
    ops.AsyncCopy: _async_copy,
    ops.RegisterLimit: _register_limit,
    ops.MatrixLoad: _matrix_load,
    ops.MatrixStore: _matrix_store,
}
