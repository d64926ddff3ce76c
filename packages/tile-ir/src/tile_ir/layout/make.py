"""Constructors of the layouts that tiles usually have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.layout.base import OFFSET, Axis
from tile_ir.layout.digits import Digit, coalesce_digits
from tile_ir.layout.fragment import FragmentLayout
from tile_ir.layout.swizzle import Swizzle
from tile_ir.layout.tile import TileLayout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def default_axes(rank: int) -> tuple[str, ...]:
    """Return the names d0, d1, ... of axes that have none."""
    return tuple(f"d{i}" for i in range(rank))


def row_major(
    shape: Sequence[int], axes: Sequence[str] | None = None, *, pad: int = 0
) -> TileLayout:
    """Return the layout with the last axis fastest, `pad` unused elements after each row.

    `row_major((128, 64), ("m", "k"))` is `m (128:64) k (64:1)`. Raises E0313 for an extent below 1.
    """
    names = _checked(shape, axes)
    return _strided(names, shape, list(names)[::-1], pad)


def column_major(
    shape: Sequence[int], axes: Sequence[str] | None = None, *, pad: int = 0
) -> TileLayout:
    """Return the layout with the first axis fastest, `pad` unused elements after each column."""
    names = _checked(shape, axes)
    return _strided(names, shape, list(names), pad)


def _strided(
    names: Sequence[str], shape: Sequence[int], fastest_first: Sequence[str], pad: int
) -> TileLayout:
    extents = dict(zip(names, shape, strict=True))
    strides, stride = {}, 1
    for i, name in enumerate(fastest_first):
        strides[name] = stride
        stride *= extents[name] + (pad if i == 0 else 0)
    return _tile([(n, [Digit(extents[n], OFFSET, strides[n])]) for n in names])


def panels(
    shape: tuple[int, int],
    axes: tuple[str, str],
    *,
    along: str,
    width: int,
    interleave: int = 1,
    swizzle: Swizzle | None = None,
) -> TileLayout:
    """Return a matrix stored panel by panel, each `width` positions of `along` wide.

    * packed operands of an outer-product kernel: `panels((M, K), ("m", "k"), along="m", width=14)`
      is `m (14:1, R:14*K) k (K:14)` with R = ceil(M/14); `interleave=2` keeps pairs along k
      together: `k (2:1, K/2:28)`;
    * columns of a swizzled buffer: `panels((64, 256), ("k", "n"), along="n", width=64,
      swizzle=Swizzle(3, 4, 3))` is `k (64:64) n (64:1, 4:4096) swizzle<3,4,3>`.

    Partial panels and pairs are padded. Raises E0313 for an extent, width or interleave below 1,
    and for an axis that is not there.
    """
    names = _checked(shape, axes)
    if min(width, interleave) < 1 or along not in names:
        raise TileError(
            "E0313",
            f"panels of width {width} by {interleave} along `{along}`",
            help=f"give width and interleave from 1 up, and along= one of {', '.join(names)}",
        )
    extents = dict(zip(names, shape, strict=True))
    (down,) = [n for n in names if n != along]
    count, pairs = -(-extents[along] // width), -(-extents[down] // interleave)
    panel = width * interleave * pairs
    digits = {
        along: [Digit(width, OFFSET, interleave), Digit(count, OFFSET, panel)],
        down: [Digit(interleave, OFFSET, 1), Digit(pairs, OFFSET, width * interleave)],
    }
    return _tile([(n, digits[n]) for n in names], swizzle)


def _tile(axes: Sequence[tuple[str, list[Digit]]], swizzle: Swizzle | None = None) -> TileLayout:
    inputs = tuple(Axis(name, coalesce_digits(digits)) for name, digits in axes)
    return TileLayout(inputs=inputs, swizzle=swizzle)


def replicated(
    shape: Sequence[int], axes: Sequence[str] | None = None, *, threads: int
) -> FragmentLayout:
    """Return the layout in which every thread holds the whole tile, last axis fastest."""
    names = _checked(shape, axes)
    value = [Digit(n, name, 1) for name, n in zip(names, shape, strict=True)][::-1]
    return FragmentLayout(
        thread=coalesce_digits([Digit(threads)]), value=coalesce_digits(value), outputs=names
    )


def one_row_each(shape: Sequence[int], axes: Sequence[str] | None = None) -> FragmentLayout:
    """Return the layout in which thread t holds row t, the last axis fastest.

    `one_row_each((64, 4))` is `thread (64:d0*1) value (4:d1*1)`. Raises E0313 for an extent below
    1.
    """
    names = _checked(shape, axes)
    value = [Digit(n, name, 1) for name, n in zip(names[1:], shape[1:], strict=True)][::-1]
    return FragmentLayout(
        thread=(Digit(shape[0], names[0], 1),), value=coalesce_digits(value), outputs=names
    )


def blocked(
    shape: Sequence[int],
    axes: Sequence[str] | None = None,
    *,
    threads: int,
    vector: int = 1,
) -> FragmentLayout:
    """Return a layout that exists for every shape and number of threads.

    Each thread holds runs of `vector` elements of the last axis; threads are dealt along the last
    axis first. Of all ways to share the threads among the axes it takes the one with the fewest
    values per thread, then the one with the most threads along later axes. Threads that find no
    element hold copies; the box is padded where nothing divides. Raises E0313 for an extent,
    `threads` or `vector` below 1.
    """
    names = _checked(shape, axes)
    if min(threads, vector) < 1:
        raise TileError(
            "E0313",
            f"{threads} threads with vectors of {vector}",
            help="give threads= and vector= as numbers from 1 up",
        )
    runs = list(shape)[::-1]
    vector = min(vector, runs[0]) if runs else 1
    if runs:
        runs[0] = -(-runs[0] // vector)
    shares = min(_shares(runs, threads), key=lambda s: (_values(runs, s), [-t for t in s]))
    return _deal(names, runs, shares, threads, vector)


def _deal(
    names: Sequence[str], runs: Sequence[int], shares: Sequence[int], threads: int, vector: int
) -> FragmentLayout:
    thread: list[Digit] = []
    value: list[Digit] = []
    step = vector
    if names:
        value.append(Digit(vector, names[-1], 1))
    for name, run, share in zip(reversed(names), runs, shares, strict=True):
        thread.append(Digit(share, name, step))
        value.append(Digit(-(-run // share), name, step * share))
        step = 1
    thread.append(Digit(threads // math.prod(shares)))
    return FragmentLayout(
        thread=coalesce_digits(thread), value=coalesce_digits(value), outputs=tuple(names)
    )


def _shares(runs: Sequence[int], threads: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to give each axis a divisor of the threads that are left."""
    if not runs:
        yield ()
        return
    for share in range(1, threads + 1):
        # Beyond the first divisor that covers the axis, threads would only idle.
        if threads % share == 0:
            for rest in _shares(runs[1:], threads // share):
                yield (share, *rest)
            if share >= runs[0]:
                return


def _values(runs: Sequence[int], shares: Sequence[int]) -> int:
    return math.prod(-(-run // share) for run, share in zip(runs, shares, strict=True))


def _checked(shape: Sequence[int], axes: Sequence[str] | None) -> tuple[str, ...]:
    names = default_axes(len(shape)) if axes is None else tuple(axes)
    if len(names) != len(shape) or any(n < 1 for n in shape):
        raise TileError(
            "E0313",
            f"a tile of shape ({', '.join(map(str, shape))}) with axes ({', '.join(names)})",
            notes=("a tile has one axis for each dimension, each at least 1 long",),
            help="give every dimension an extent from 1 up and, with axes=, one name",
        )
    return names


def swizzle_for(row_bytes: int) -> Swizzle | None:
    """Return the swizzle that spreads rows of 32, 64 or 128 bytes over the banks, or None."""
    bits = {32: 1, 64: 2, 128: 3}.get(row_bytes)
    return None if bits is None else Swizzle(bits, 4, 3)
