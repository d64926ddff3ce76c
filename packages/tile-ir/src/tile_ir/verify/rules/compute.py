"""Rules of matrix products, reductions and scans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.build import const
from tile_ir.core import Stage
from tile_ir.expr import Const
from tile_ir.ops.compute import GEMM_POLICIES, REDUCE_KINDS, SCAN_KINDS
from tile_ir.verify.extents import Extents, differ, extents, is_unit, listed, unlike

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Region
    from tile_ir.opdef import Stmt
    from tile_ir.types import DType
    from tile_ir.verify.context import Context

NAN_RULES = ("propagate", "ignore")
_MATRIX = 2
_NARROW_FLOAT_BITS = 8


def _matrix(region: Region, transposed: bool, cx: Context) -> Extents | None:
    """The two extents of an operand in logical order, or None after reporting that it has not."""
    shape = extents(region)
    if len(shape) < _MATRIX or not all(map(is_unit, shape[:-_MATRIX])):
        cx.report(
            "E0420",
            f"{region.buffer}{listed(shape)} is no matrix",
            "a product takes two axes, after axes of extent 1",
        )
        return None
    rows, columns = shape[-_MATRIX:]
    return (columns, rows) if transposed else (rows, columns)


def _product(s: ops.Gemm | ops.Atom, cx: Context) -> None:
    a = _matrix(s.a, s.transpose_a, cx)
    b = _matrix(s.b, s.transpose_b, cx)
    c = _matrix(s.c, False, cx)
    if a is None or b is None or c is None:
        return
    (m, k), (k2, n), (m2, n2) = a, b, c
    if differ(k, k2) or differ(m, m2) or differ(n, n2):
        cx.report(
            "E0420",
            f"{listed(a)} times {listed(b)} does not go into {listed(c)}",
            f"of {s.a.buffer}, {s.b.buffer} -> {s.c.buffer}, as [m, k] times [k, n] into [m, n]",
        )
    if s.init is not None:
        cx.condition(s.init, "init")
    _product_types(s, cx)


def _product_types(s: ops.Gemm | ops.Atom, cx: Context) -> None:
    found = [cx.symbols.buffer(r.buffer) for r in (s.a, s.b, s.c)]
    types = [b.dtype for b in found if b is not None]
    if len(types) != len(found):
        return
    a, b, c = types
    if not _multiply(a, b):
        cx.report(
            "E0421",
            f"{s.a.buffer} is {a} and {s.b.buffer} is {b}",
            "both operands have one type; narrow floats, and integers of one width, may mix",
            fix="convert one of them with a copy first",
        )
    elif a.is_float is not c.is_float or c.bits < max(a.bits, b.bits):
        cx.report("E0421", f"products of {a} and {b} are not accumulated in {c}")


def _multiply(a: DType, b: DType) -> bool:
    if a is b:
        return not a.is_bool
    if a.is_float and b.is_float:
        return max(a.bits, b.bits) <= _NARROW_FLOAT_BITS
    return a.is_int and b.is_int and a.bits == b.bits


def _atom(s: ops.Atom, cx: Context) -> None:
    """At stage simt the regions are a thread's registers, which say nothing of rows and columns."""
    if cx.stage is Stage.SIMT:
        _product_types(s, cx)
    else:
        _product(s, cx)


def _gemm(s: ops.Gemm, cx: Context) -> None:
    cx.choice(s.policy, GEMM_POLICIES, "the policy")
    _product(s, cx)


def _reduce(s: ops.Reduce, cx: Context) -> None:
    cx.choice(s.kind, REDUCE_KINDS, "the kind of reduction")
    cx.choice(s.nan, NAN_RULES, "the NaN rule")
    src, dst = extents(s.src), extents(s.dst)
    if not -len(src) <= s.dim < len(src):
        cx.report("E0423", f"{s.src.buffer} has {len(src)} axes, none is number {s.dim}")
        return
    dim = s.dim % len(src)
    if s.parts:
        _parts(s, src, dst, dim, cx)
        return
    rest = (*src[:dim], *src[dim + 1 :])
    kept = (*src[:dim], None, *src[dim + 1 :])
    drops = not unlike(rest, dst)
    keeps = len(kept) == len(dst) and all(
        is_unit(d) if k is None else not differ(k, d) for k, d in zip(kept, dst, strict=True)
    )
    scalar = not rest and all(map(is_unit, dst))
    if not (drops or keeps or scalar):
        cx.report(
            "E0423",
            f"{s.src.buffer}{listed(src)} without axis {dim} is not {s.dst.buffer}{listed(dst)}",
            "the reduced axis is absent from the destination, or has extent 1",
        )
    buffer = cx.symbols.buffer(s.src.buffer)
    if s.kind in ("and", "or", "xor") and buffer is not None and buffer.dtype.is_float:
        cx.report("E0423", f"{s.kind} of {buffer.dtype} in {buffer.name}", "it works on integers")


def _parts(s: ops.Reduce, src: Extents, dst: Extents, dim: int, cx: Context) -> None:
    """A reduction that leaves an axis of parts."""
    size = src[dim]
    divides = len(s.parts) == _MATRIX and min(s.parts) > 0
    if divides and isinstance(size, Const):
        divides = int(size.value) % (s.parts[0] * s.parts[1]) == 0
    if not divides:
        cx.report("E0423", f"axis {dim} of {s.src.buffer}{listed(src)} has no parts {s.parts}")
        return
    kept = (*src[:dim], const(s.parts[0]), *src[dim + 1 :])
    if unlike(kept, dst):
        cx.report("E0423", f"{s.dst.buffer}{listed(dst)} is not {listed(kept)}")


def _scan(s: ops.Scan, cx: Context) -> None:
    cx.choice(s.kind, SCAN_KINDS, "the kind of scan")
    src, dst = extents(s.src), extents(s.dst)
    if not -len(src) <= s.dim < len(src):
        cx.report("E0424", f"{s.src.buffer} has {len(src)} axes, none is number {s.dim}")
    if unlike(src, dst):
        cx.report(
            "E0424", f"{s.src.buffer}{listed(src)} is scanned into {s.dst.buffer}{listed(dst)}"
        )


RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {
    ops.Gemm: _gemm,
    ops.Atom: _atom,
    ops.Reduce: _reduce,
    ops.Scan: _scan,
}
