"""Products of matrices of which two in every four elements are stored.

The stored form is expanded into a tile in shared memory, and multiplied like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.language.alloc import alloc_shared
from tile_frontend.language.tile_ops import GemmWarpPolicy, copy, gemm
from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef
from tile_frontend.trace.loops import ParallelLoop
from tile_frontend.trace.operands import Tile, box, static_extents
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.types import u32

if TYPE_CHECKING:
    from tile_ir.expr import Expr

__all__ = ["gemm_sp"]

_CODE_BITS = 4


def gemm_sp(
    A_sparse: Any,
    E: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_E: bool = False,
    transpose_B: bool = False,
    policy: int = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    wg_wait: int = 0,
    annotations: Any = None,
) -> None:
    """C += A @ op(B), where A holds two of every four elements along K.

    Args:
        A_sparse: (M, K / 2), the elements that are kept, in order; (K / 2, M) with transpose_A.
        E: which they are, (M, codes) of integers; (codes, M) with transpose_E. Four bits for each
            four elements of A, the first in the lowest bits of a word: the place of the first one
            kept, 0 to 3, then that of the second. Of elements of 32 bits, one of every two is kept,
            and its four bits are 0b0100 for the first and 0b1110 for the second.
        B, C, policy, clear_accum: as in `T.gemm`.
        k_pack, wg_wait: hints, without effect.

    The elements are in the order of the matrix. Layouts of E that one device prefers are undone
    before, on the host.

    Raises `TileError` E1402 when shapes do not fit, E1403 when types do not, E1404 and E1408 as
    `T.gemm`.
    Example: `A2 = T.alloc_shared((64, 32), T.float16); E = T.alloc_shared((64, 4), T.int16);
    B2 = T.alloc_shared((64, 64), T.float16); T.clear(A2); T.clear(E); T.clear(B2);
    T.gemm_sp(A2, E, B2, F)`
    """
    b = state.builder("T.gemm_sp")
    b.need_kernel("T.gemm_sp")
    kept, codes = _readable(A_sparse), _readable(E)
    rows, half = _matrix(kept, transpose_A)
    code_rows, words = _matrix(codes, transpose_E)
    code_type = codes.buffer.dtype
    group = 2 if kept.buffer.dtype.bits == 32 else 4
    if not code_type.is_int or code_type.bits < 8 or code_type.bits > 32:
        raise TileError(
            "E1403",
            f"T.gemm_sp has places in {codes.buffer.name} of {code_type}",
            help="store them in integers of 8, 16 or 32 bits",
        )
    if code_rows != rows or words * code_type.bits * group != 2 * half * _CODE_BITS:
        raise TileError(
            "E1402",
            f"T.gemm_sp has elements {kept} with places {codes}",
            help=f"{rows} x {2 * half} elements in groups of {group} need {rows} x "
            f"{2 * half // group * _CODE_BITS / code_type.bits:g} words of {code_type}",
        )
    dense = alloc_shared((rows, 2 * half), _dtype(kept))
    _expand(kept, codes, dense, (transpose_A, transpose_E), group)
    gemm(dense, B, C, False, transpose_B, policy, clear_accum)


def _dtype(t: Tile) -> Any:
    return BufferRef(t.buffer).dtype


def _readable(x: Any) -> Tile:
    """An operand that any thread can read any element of."""
    given = box(x, "T.gemm_sp")
    if given.buffer.scope == "global":
        raise TileError(
            "E1408",
            f"T.gemm_sp has the global tensor {given.buffer.name} as an operand",
            help="copy a tile of it into shared memory first",
        )
    if given.buffer.scope == "shared":
        return given
    shared = alloc_shared(static_extents(given, "T.gemm_sp"), _dtype(given))
    copy(x, shared)
    return box(shared, "T.gemm_sp")


def _matrix(t: Tile, transposed: bool) -> tuple[int, int]:
    extents = static_extents(t, "T.gemm_sp")
    if len(extents) != 2:
        raise TileError("E1402", f"T.gemm_sp has the operand {t}", help="give it two axes")
    return (extents[1], extents[0]) if transposed else (extents[0], extents[1])


def _at(t: Tile, row: Expr, column: Expr, transposed: bool) -> Expr:
    place = (column, row) if transposed else (row, column)
    return build.load(t.buffer, [build.add(s, p) for s, p in zip(t.starts, place, strict=True)])


def _expand(
    kept: Tile, codes: Tile, dense: BufferRef, transposed: tuple[bool, bool], group: int
) -> None:
    """Put each element that is kept into its place, and zeros into the others."""
    b = state.builder("T.gemm_sp")
    loop = ParallelLoop(dense.buffer.shape)
    loop.begin(b)
    row, column = loop.variables
    number = build.floordiv(column, group)
    per_word = codes.buffer.dtype.bits // _CODE_BITS
    word = _at(codes, row, build.floordiv(number, per_word), transposed[1])
    down = build.mul(build.floormod(number, per_word), _CODE_BITS)
    code = b.let("code", build.shr(build.cast(word, u32), build.cast(down, u32))).expr
    here = build.cast(build.floormod(column, group), u32)
    made: Expr = build.const(0, kept.buffer.dtype)
    held = group // 2
    for n in reversed(range(held)):
        # Of one element in two, the upper bit of its first place tells which half it is.
        down_by = 1 if group == 2 else 2 * n
        place = build.bit_and(
            build.shr(code, build.const(down_by, u32)), build.const(group - 1, u32)
        )
        element = _at(kept, row, build.add(build.mul(number, held), n), transposed[0])
        made = build.select(build.eq(place, here), element, made)
    b.store(dense.buffer, loop.variables, made)
    loop.end(b)
