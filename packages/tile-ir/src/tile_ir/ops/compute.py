"""Whole-tile computation: matrix product, reductions, scans."""

from __future__ import annotations

from tile_ir.core import Region
from tile_ir.expr import Expr
from tile_ir.opdef import READ, UPDATE, WRITE, Effect, Stmt, attr, op, operand

REDUCE_KINDS = ("sum", "max", "min", "absmax", "abssum", "and", "or", "xor")
SCAN_KINDS = ("sum", "max")
GEMM_POLICIES = ("square", "full_row", "full_col")


@op("gemm", syntax="gemm $a, $b -> $c")
class Gemm(Stmt):
    """c += op(a) @ op(b) in the accumulator's dtype; where `init` holds, c = op(a) @ op(b) (old
    contents unread).

    a is [m, k] ([k, m] with `transpose_a`), b is [k, n] ([n, k] with `transpose_b`), c is [m, n];
    leading unit axes are allowed. `policy` is how compute warps share m x n.

    Example: `gemm A_s[:, :], B_s[:, :] -> C_l[:, :] transpose_b, init = k == 0`.
    """

    a: Region = operand(READ)
    b: Region = operand(READ)
    c: Region = operand(UPDATE)
    transpose_a: bool = attr(False)
    transpose_b: bool = attr(False)
    init: Expr | None = operand(READ, None)
    policy: str = attr("square")


@op("reduce", syntax="reduce $kind $src -> $dst")
class Reduce(Stmt):
    """Combine along axis `dim` of `src` into `dst` (that axis absent, or of extent 1).

    Sums accumulate in at least float32 and are rounded once to the dtype of `dst`. With `clear`
    false the old contents of `dst` are combined once. A NaN wins every max and min unless `nan` is
    "ignore". With `parts = (count, stride)` the axis stays, with extent `count`: its element p
    combines the elements i of `src` for which (i // stride) % count is p.

    Example: `reduce max S[:, :] -> m[:] dim = 1, clear = false`.
    """

    kind: str = attr()
    src: Region = operand(READ)
    dst: Region = operand(UPDATE)
    dim: int = attr(-1)
    clear: bool = attr(True)
    nan: str = attr("propagate")
    parts: tuple[int, ...] = attr(())

    def effects_(self) -> tuple[Effect, ...]:
        """A clearing reduction never reads its destination."""
        return (Effect(READ, self.src), Effect(WRITE if self.clear else UPDATE, self.dst))


@op("scan", syntax="scan $kind $src -> $dst")
class Scan(Stmt):
    """Inclusive running sum or maximum along `dim`, from the end when `reverse`.

    Example: `scan sum A_s[:, :] -> B_s[:, :] dim = 0, reverse`.
    """

    kind: str = attr()
    src: Region = operand(READ)
    dst: Region = operand(WRITE)
    dim: int = attr(0)
    reverse: bool = attr(False)
