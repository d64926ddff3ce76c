"""Convolutions as products: tiles of the matrix whose rows are the patches of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef
from tile_frontend.trace.loops import ParallelLoop
from tile_frontend.trace.operands import Tile, box
from tile_frontend.trace.values import expr_of, static_int
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.types import i32

if TYPE_CHECKING:
    from tile_frontend.trace.builder import Builder
    from tile_ir.core import Buffer
    from tile_ir.expr import Expr

__all__ = ["c2d_im2col", "im2col"]


def _bad(message: str, fix: str) -> NoReturn:
    raise TileError("E1420", message, help=fix)


def im2col(
    img: Any,
    col: Any,
    nhw_step: Any,
    c_step: Any,
    kernel: int,
    stride: int,
    dilation: int,
    pad: int,
    eviction_policy: Any = None,
    annotations: Any = None,
) -> None:
    """Fill a tile of the matrix whose product with the weights is a convolution.

    Row m of the matrix is the patch of one output: outputs are numbered by image, row and column.
    Column k is one weight: weights are numbered by kernel row, kernel column and channel. What lies
    in the padding, or outside the matrix, is zero.

    Args:
        img: a tensor (N, H, W, C).
        col: the tile, (rows, columns), in shared memory or a fragment.
        nhw_step, c_step: which tile of the matrix, in tiles down and to the right.
        kernel, stride, dilation, pad: extent of the kernel, distance of outputs, distance of its
            weights and zeros around the image, the same along both axes.
        eviction_policy: a hint, without effect.

    Raises `TileError` E1420 for an image or a tile of other axes, or numbers that are not known;
    E1302 and E1306 as every tile operation.
    Example: `N = T.view(A, (2, 8, 8, 32)); T.im2col(N, S, 0, 0, 3, 1, 1, 1)`
    """
    b = state.builder("T.im2col")
    b.need_kernel("T.im2col")
    if not isinstance(img, BufferRef) or img.ndim != 4:
        _bad(f"T.im2col takes the image {img!r}", "pass a whole tensor (N, H, W, C)")
    target = box(col, "T.im2col")
    if len(target.extents or ()) != 2:
        _bad(f"T.im2col fills {target}", "pass a tile of two axes, (rows, columns)")
    numbers = [static_int(x) for x in (kernel, stride, dilation, pad)]
    if any(n is None or n < (0 if at == 3 else 1) for at, n in enumerate(numbers)):
        _bad(
            f"T.im2col has kernel, stride, dilation, pad = {kernel}, {stride}, {dilation}, {pad}",
            "they are ints known while tracing, positive but for the padding",
        )
    k, s, d, p = (n for n in numbers if n is not None)
    _fill(b, img.buffer, target, (expr_of(nhw_step), expr_of(c_step)), (k, s, d, p))


def _fill(
    b: Builder,
    image: Buffer,
    target: Tile,
    steps: tuple[Expr, Expr],
    numbers: tuple[int, int, int, int],
) -> None:
    extents = target.extents or ()
    loop = ParallelLoop(extents)
    loop.begin(b)
    row, column = (
        b.let(name, build.add(build.mul(build.cast(step, i32), e), v)).expr
        for name, step, e, v in zip(
            ("output", "weight"), steps, extents, loop.variables, strict=True
        )
    )
    indices, inside = _source(b, image, row, column, numbers)
    zero = build.const(0, image.dtype)
    place = [build.add(s, v) for s, v in zip(target.starts, loop.variables, strict=True)]
    b.store(target.buffer, place, build.select(inside, build.load(image, indices), zero))
    loop.end(b)


def _source(
    b: Builder, image: Buffer, row: Expr, column: Expr, numbers: tuple[int, int, int, int]
) -> tuple[list[Expr], Expr]:
    """The element of the image at a row and a column of the matrix, and whether there is one."""
    kernel, stride, dilation, pad = numbers
    count, height, width, channels = image.shape

    def outputs(size: Expr) -> Expr:
        reach = dilation * (kernel - 1) + 1
        return build.add(build.floordiv(build.sub(build.add(size, 2 * pad), reach), stride), 1)

    down, across = outputs(height), outputs(width)
    tap = b.let("tap", build.floordiv(column, channels)).expr
    pixel = b.let("pixel", build.floordiv(row, across)).expr
    n = b.let("n", build.floordiv(pixel, down)).expr

    def position(output: Expr, weight: Expr) -> Expr:
        return build.sub(build.add(build.mul(output, stride), build.mul(weight, dilation)), pad)

    y = b.let("y", position(build.floormod(pixel, down), build.floordiv(tap, kernel))).expr
    x = b.let("x", position(build.floormod(row, across), build.floormod(tap, kernel))).expr
    inside = build.land(build.lt(n, count), build.lt(tap, kernel * kernel))
    for place, extent in ((y, height), (x, width)):
        inside = build.land(inside, build.land(build.ge(place, 0), build.lt(place, extent)))
    return [n, y, x, build.floormod(column, channels)], inside


c2d_im2col = im2col
