"""Declaring buffers and moving data: alloc, view, let, copy, fill, store, transpose, atomics."""

from __future__ import annotations

from tile_ir.core import Buffer, Region
from tile_ir.expr import Expr, Load, Slot, Var
from tile_ir.opdef import READ, UPDATE, WRITE, Effect, Stmt, attr, binds, op, operand

ATOMIC_KINDS = ("add", "max", "min", "and", "or", "xor", "exchange")
MEMORY_ORDERS = ("relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst")


@op("alloc", syntax="alloc $buffer")
class Alloc(Stmt):
    """Bring a buffer into being, contents undefined; it lives to the end of the enclosing body.

    A `kept` one is global memory that is made once, with zeros, for each stream of launches, and
    keeps what launches leave in it. Example: `alloc A_s: shared f16[128, 64]`.
    """

    buffer: Buffer = binds()
    kept: bool = attr(False)


@op("view", syntax="view $buffer of $source")
class View(Stmt):
    """Name the storage of `source` again with another shape or dtype of the same total bits
    (row-major order).

    Example: `view B: shared f16[8192] of A_s`.
    """

    buffer: Buffer = binds()
    source: str = attr()


@op("let", syntax="let $var = $value")
class Let(Stmt):
    """Bind a scalar once, evaluated here. Example: `let x: f32 = A[i] + 1.0`."""

    var: Var = binds()
    value: Expr = operand(READ)


@op("copy", syntax="copy $src -> $dst")
class Copy(Stmt):
    """Move a box element by element, converting to the destination's dtype.

    Both regions have the same extents after unit axes are dropped. Elements outside a global `src`
    read as its safe value; elements outside a global `dst` are not written. `clip` says that a side
    may leave its buffer: without it every element is in bounds. `width` bounds the vector width in
    elements (0: free); `eviction` is a cache hint.

    Example: `copy A[by * 128 : +128, 0 : +64] -> A_s[:, :] clip`.
    """

    src: Region = operand(READ)
    dst: Region = operand(WRITE)
    clip: bool = attr(False)
    width: int = attr(0)
    eviction: str = attr("normal")


@op("fill", syntax="fill $dst, $value")
class Fill(Stmt):
    """Set every element of a region to one value. Example: `fill C_l[:, :], 0.0`."""

    dst: Region = operand(WRITE)
    value: Expr = operand(READ)
    clip: bool = attr(False)


@op("transpose", syntax="transpose $src -> $dst")
class Transpose(Stmt):
    """dst[..., j, i] = src[..., i, j], converting. Example: `transpose A_s[:, :] -> B_s[:, :]`."""

    src: Region = operand(READ)
    dst: Region = operand(WRITE)


@op("store", syntax="store $buffer$slot[$indices] = $value")
class Store(Stmt):
    """Write one element (`value.dtype.lanes` of them where the last index is a ramp); value has the
    buffer's dtype.

    `clip`: an index may leave a global buffer, then nothing is written. Example: `store C[i, j] = x
    + 1.0`.
    """

    buffer: str = attr()
    slot: Slot | None = attr(None)
    indices: tuple[Expr, ...] = operand(READ)
    value: Expr = operand(READ)
    clip: bool = attr(False)

    def effects_(self) -> tuple[Effect, ...]:
        """A write of the one element."""
        return (Effect(WRITE, Load(self.buffer, self.indices, self.value.dtype, self.slot)),)


@op("atomic", syntax="atomic $kind $buffer[$indices], $value")
class Atomic(Stmt):
    """Read, combine and write one element indivisibly; `result` names the value from before. With a
    ramp as last index and a vector as value, each of its elements so.

    Example: `atomic add C[i], x`.
    """

    kind: str = attr()
    buffer: str = attr()
    indices: tuple[Expr, ...] = operand(READ)
    value: Expr = operand(READ)
    result: Var | None = binds(None)
    order: str = attr("relaxed")
    clip: bool = attr(False)

    def effects_(self) -> tuple[Effect, ...]:
        """An update of the one element."""
        return (Effect(UPDATE, Load(self.buffer, self.indices, self.value.dtype)),)


@op("atomic_tile", syntax="atomic_tile $kind $src -> $dst")
class AtomicTile(Stmt):
    """Combine each element of `src` into `dst` indivisibly. Example: `atomic_tile add C_l[:, :] ->
    C[0 : +64, 0 : +64] clip`."""

    kind: str = attr()
    src: Region = operand(READ)
    dst: Region = operand(UPDATE)
    order: str = attr("relaxed")
    clip: bool = attr(False)
