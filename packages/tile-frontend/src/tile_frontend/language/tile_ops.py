"""Operations on whole tiles, done by all threads of a block together: copy, gemm, fill, transpose,
views.
"""

from __future__ import annotations

from enum import IntEnum
from math import prod
from typing import Any

from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef, Element, store_element
from tile_frontend.trace.builder import converted
from tile_frontend.trace.element_types import ir_dtype
from tile_frontend.trace.indices import same
from tile_frontend.trace.logic import truth
from tile_frontend.trace.operands import Tile, box, matched, tile
from tile_frontend.trace.tensors import shape_of
from tile_frontend.trace.values import Value, static_int
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.expr import Const, Expr
from tile_ir.ops import (
    MATRIX,
    CommitGroup,
    Copy,
    Fill,
    Gemm,
    Issue,
    SettleCount,
    Transpose,
    View,
)
from tile_ir.rewrite import replace
from tile_ir.types import DType, bool_

__all__ = [
    "GemmWarpPolicy",
    "clear",
    "copy",
    "fill",
    "gemm",
    "reshape",
    "transpose",
    "view",
    "wait_wgmma",
    "wgmma_gemm",
    "wgmma_mma",
]

EVICTION = {
    None: "normal",
    "evict_normal": "normal",
    "evict_first": "evict_first",
    "evict_last": "evict_last",
    0: "normal",
    1: "evict_first",
    2: "evict_last",
}
"""What a copy may say of caches -> the hint."""


def copy(
    src: Any,
    dst: Any,
    *,
    coalesced_width: int | None = None,
    disable_tma: bool = False,
    eviction_policy: Any = None,
    prefer_instruction: str | None = None,
    annotations: Any = None,
    loop_layout: Any = None,
) -> None:
    """Copy a tile between any two scopes, converting to the destination's element type.

    Args:
        src, dst: a buffer (all of it), a region `A[i:j, k]`, or an element `A[i, j]` where the tile
            starts; its
            extent then comes from the other side, aligned from the last axis. Between two elements
            it is an assignment.
        coalesced_width: bound on the vector width, in elements.
        eviction_policy: "evict_normal", "evict_first" or "evict_last", a hint for the cache that a
            copy engine reads through; without effect where threads copy.
        disable_tma, prefer_instruction, annotations, loop_layout: hints for other compilers,
            without effect.

    Elements outside a global source read as zero (or its T.annotate_safe_value); those outside a
    global destination are not written.

    Raises `TileError` E1401 when the extents differ, E1405 for operands that are no buffers.
    Example: `T.copy(A[0, 0], S)`
    """
    b = state.builder("T.copy")
    if isinstance(src, Value) and isinstance(dst, Element):
        store_element(dst, src)
        return
    b.need_kernel("T.copy")
    a, c = matched(src, dst, "T.copy")
    width = 0 if coalesced_width is None else static_int(coalesced_width)
    if eviction_policy not in EVICTION or width is None or width < 0:
        raise TileError(
            "E1503",
            f"T.copy has eviction_policy={eviction_policy!r}, coalesced_width={coalesced_width!r}",
            help="the policies are evict_normal, evict_first, evict_last; the width is a positive "
            "int",
        )
    b.emit(
        Copy(
            src=a.region,
            dst=c.region,
            clip=a.may_leave or c.may_leave,
            width=width,
            eviction=EVICTION[eviction_policy],
            span=b.span,
        )
    )


def fill(buffer: Any, value: Any, annotations: Any = None) -> None:
    """Set every element of a buffer or region to `value`, converted to its type.

    Raises `TileError` E1405 when it is no buffer, E1302 outside a kernel.
    Example: `T.fill(F, 1.0)`
    """
    b = state.builder("T.fill")
    b.need_kernel("T.fill")
    to_fill = getattr(buffer, "to_fill", None)  # what is more than a buffer says what is filled
    dst = tile(buffer if to_fill is None else to_fill(), "T.fill")
    number = converted(value, dst.buffer.dtype)
    b.emit(Fill(dst=dst.region, value=number, clip=dst.may_leave, span=b.span))


def clear(buffer: Any, annotations: Any = None) -> None:
    """Set every element of a buffer or region to zero.

    Raises `TileError` E1405 when it is no buffer, E1302 outside a kernel.
    Example: `T.clear(F)`
    """
    fill(buffer, 0)


class GemmWarpPolicy(IntEnum):
    """How the warps of a block share the tile of a product: squarely, by rows or by columns.

    Example: `T.gemm(S, S2, F, policy=T.GemmWarpPolicy.FullRow)`
    """

    Square = 0
    FullRow = 1
    FullCol = 2


_POLICIES = ("square", "full_row", "full_col")


def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: int = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    mbar: Any = None,
    annotations: Any = None,
) -> None:
    """C += op(A) @ op(B), in the element type of C.

    Args:
        A: (M, K), or (K, M) with transpose_A. B: (K, N), or (N, K) with transpose_B. C: (M, N).
            Leading axes of
            extent 1 are allowed. Buffers or regions, in shared memory or fragments.
        policy: how warps share the work.
        clear_accum: C = op(A) @ op(B) where it holds; a bool or a traced condition such as `k ==
            0`.
        k_pack: a hint, without effect.

    Raises `TileError` E1402 when shapes do not fit, E1403 when types do not, E1404 for operands
    that have no size.
    Example: `T.gemm(S, S2, F, transpose_B=True)`
    """
    b = state.builder("T.gemm")
    b.need_kernel("T.gemm")
    if mbar is not None:
        raise TileError(
            "E1501", "T.gemm has mbar=", help="leave it out; completion is awaited for you"
        )
    product = _product(A, B, C, transpose_A, transpose_B, policy, clear_accum)
    b.emit(replace(product, span=b.span))


def _product(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool,
    transpose_B: bool,
    policy: int,
    clear_accum: Any,
) -> Gemm:
    """The product of operands as the language takes them."""
    a, w, c = box(A, "T.gemm"), box(B, "T.gemm"), box(C, "T.gemm")
    for operand in (a, w, c):
        _check_scope(operand)
    _check_shapes(a, w, c, transpose_A, transpose_B)
    _check_types(a.buffer.dtype, w.buffer.dtype, c.buffer.dtype)
    return Gemm(
        a=a.region,
        b=w.region,
        c=c.region,
        transpose_a=bool(transpose_A),
        transpose_b=bool(transpose_B),
        init=_init(clear_accum),
        policy=_policy(policy),
    )


def wgmma_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: int = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    annotations: Any = None,
) -> None:
    """Start `T.gemm` of these operands as a group of its own, and go on.

    `T.wait_wgmma(n)` waits until at most n groups are under way. The compiler waits by itself
    before a statement that reads C or overwrites A or B; what other roles overwrite is for
    `T.wait_wgmma` and a barrier. A device without such products does them at once.

    Raises `TileError` as `T.gemm` does.
    Example: `T.wgmma_gemm(S, S2, F)`
    """
    b = state.builder("T.wgmma_gemm")
    b.need_kernel("T.wgmma_gemm")
    product = _product(A, B, C, transpose_A, transpose_B, policy, clear_accum)
    b.manual = True
    b.emit(Issue(engine=MATRIX, body=(replace(product, span=b.span),), span=b.span))
    b.emit(CommitGroup(engine=MATRIX, span=b.span))


def wait_wgmma(n: int) -> None:
    """Wait until at most `n` groups of `T.wgmma_gemm` are under way.

    Raises `TileError` E1513 for a number that is not known.
    Example: `T.wait_wgmma(0)`
    """
    b = state.builder("T.wait_wgmma")
    b.need_kernel("T.wait_wgmma")
    count = static_int(n)
    if count is None or count < 0:
        raise TileError(
            "E1513",
            f"T.wait_wgmma leaves {n!r} groups under way",
            help="the number is an int from 0, known while tracing",
        )
    b.emit(SettleCount(engine=MATRIX, pending=count, span=b.span))


wgmma_mma = wgmma_gemm


def _check_scope(operand: Tile) -> None:
    if operand.buffer.scope == "global":
        raise TileError(
            "E1408",
            f"T.gemm has the global tensor {operand.buffer.name} as an operand",
            help="copy a tile of it into shared memory or a fragment first",
        )


def _policy(given: Any) -> str:
    place = static_int(given)
    if place is None or not 0 <= place < len(_POLICIES):
        raise TileError(
            "E1503",
            f"T.gemm has policy={given!r}",
            help="use T.GemmWarpPolicy.Square, FullRow or FullCol",
        )
    return _POLICIES[place]


def _init(clear_accum: Any) -> Expr | None:
    if isinstance(clear_accum, Value):
        cond = truth(clear_accum)
        return None if isinstance(cond, Const) and not cond.value else cond
    return build.const(True, bool_) if clear_accum else None


def _matrix(t: Tile, transposed: bool) -> tuple[Expr, Expr]:
    extents = t.extents or ()
    leading = extents[:-2]
    if len(extents) < 2 or any(not (isinstance(e, Const) and e.value == 1) for e in leading):
        raise TileError(
            "E1402",
            f"T.gemm has the operand {t}, which is no matrix",
            help="give it two axes; leading ones must have extent 1",
        )
    rows, columns = extents[-2:]
    return (columns, rows) if transposed else (rows, columns)


def _check_shapes(a: Tile, b: Tile, c: Tile, transpose_a: bool, transpose_b: bool) -> None:
    (m, k), (k2, n), (m2, n2) = _matrix(a, transpose_a), _matrix(b, transpose_b), _matrix(c, False)
    for axis, x, y, left, right in (("K", k, k2, a, b), ("M", m, m2, a, c), ("N", n, n2, b, c)):
        if not same(x, y):
            raise TileError(
                "E1402",
                f"T.gemm has {axis} = {x} in {left} but {y} in {right}",
                notes=(f"op(A) is {m} x {k}, op(B) is {k2} x {n}, C is {m2} x {n2}",),
                help="check the tile shapes, transpose_A and transpose_B",
            )


def _check_types(a: DType, b: DType, c: DType) -> None:
    narrow = a.is_float and b.is_float and a.bits <= 8 and b.bits <= 8
    bytes_ = a.is_int and b.is_int and a.bits == b.bits <= 8
    if not (a is b or narrow or bytes_) or a.is_bool:
        raise TileError(
            "E1403",
            f"T.gemm multiplies {a} by {b}",
            notes=("only 8-bit and narrower types mix",),
            help="copy one operand into a tile of the other's type first",
        )
    if a.is_float != c.is_float or c.is_bool:
        raise TileError(
            "E1403",
            f"T.gemm accumulates products of {a} in {c}",
            help="use a float32 accumulator for floats, int32 for integers",
        )


def transpose(src: Any, dst: Any, annotations: Any = None) -> None:
    """dst[..., j, i] = src[..., i, j], converting.

    Raises `TileError` E1410 when the shapes are not each other's transposes.
    Example: `T.transpose(S, S2)`
    """
    b = state.builder("T.transpose")
    b.need_kernel("T.transpose")
    a, c = box(src, "T.transpose"), box(dst, "T.transpose")
    left, right = list(a.extents or ()), list(c.extents or ())
    swapped = [*left[:-2], *reversed(left[-2:])]
    fits = len(left) == len(right) >= 2 and all(map(same, swapped, right))
    if not fits:
        raise TileError(
            "E1410",
            f"T.transpose turns {a} into {c}",
            help="the destination has the source's shape with its last two axes exchanged",
        )
    b.emit(Transpose(src=a.region, dst=c.region, span=b.span))


def view(src: BufferRef, shape: Any = None, dtype: Any = None) -> BufferRef:
    """The storage of a buffer under another shape or element type, in row-major order.

    Args:
        src: a buffer. shape: new extents, or None to keep them. dtype: new element type, or None.

    Raises `TileError` E1413 when the number of bits differs.
    Example: `T.view(S, (4096,))`
    """
    return _view(src, shape, dtype, "T.view")


def reshape(src: BufferRef, shape: Any) -> BufferRef:
    """The storage of a buffer under another shape, in row-major order.

    Raises `TileError` E1413 when the number of elements differs.
    Example: `T.reshape(S, (32, 128))`
    """
    return _view(src, shape, None, "T.reshape")


def _view(src: Any, shape: Any, dtype: Any, what: str) -> BufferRef:
    b = state.builder(what)
    if not isinstance(src, BufferRef):
        raise TileError(
            "E1405", f"{what} takes a whole buffer", help="pass the buffer, then index the view"
        )
    old = src.buffer
    extents = old.shape if shape is None else shape_of(shape, what)
    element = old.dtype if dtype is None else ir_dtype(dtype)
    before, after = _bits(old.shape, old.dtype), _bits(extents, element)
    if before is None or before != after:
        raise TileError(
            "E1413",
            f"{what} turns {src!r} into {element}[{', '.join(str(e) for e in extents)}]",
            notes=(f"the sizes are {before or 'unknown'} and {after or 'unknown'} bits",),
            help="both must have the same constant number of bits",
        )
    name = b.fresh(b.hint(f"{old.name}_view"))
    made = Buffer(name=name, dtype=element, shape=extents, scope=old.scope, span=b.span)
    b.roots[name] = b.roots.get(old.name, old.name)
    b.emit(View(buffer=made, source=old.name, span=b.span))
    return BufferRef(made)


def _bits(shape: tuple[Expr, ...], dtype: DType) -> int | None:
    sizes = [e.value for e in shape if isinstance(e, Const)]
    return int(prod(sizes)) * dtype.storage_bits if len(sizes) == len(shape) else None
