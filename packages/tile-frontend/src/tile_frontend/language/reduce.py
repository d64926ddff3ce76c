"""Reductions and scans along one axis of a tile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.trace import state
from tile_frontend.trace.indices import same
from tile_frontend.trace.operands import Tile, box
from tile_frontend.trace.values import static_int
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.ops import Reduce, Scan

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "cummax",
    "cumsum",
    "reduce",
    "reduce_absmax",
    "reduce_abssum",
    "reduce_bitand",
    "reduce_bitor",
    "reduce_bitxor",
    "reduce_max",
    "reduce_min",
    "reduce_sum",
]

_KINDS = {
    "sum": "sum",
    "max": "max",
    "min": "min",
    "absmax": "absmax",
    "abssum": "abssum",
    "bitand": "and",
    "bitor": "or",
    "bitxor": "xor",
}
_SCOPES = ("shared", "fragment", "local")


def reduce(
    buffer: Any,
    out: Any,
    reduce_type: str,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = True,
    annotations: Any = None,
) -> None:
    """Combine `buffer` along axis `dim` into `out`, which has that axis absent or of extent 1.

    Args:
        buffer, out: tiles in shared memory, fragments, or both local.
        reduce_type: sum, max, min, absmax, abssum, bitand, bitor or bitxor.
        clear: start afresh; False combines with what `out` holds (once).
        nan_propagate: whether a NaN wins max, min and absmax; False lets it lose.
        batch: a hint, without effect.

    Sums are formed in at least float32 and rounded once to the type of `out`.

    Raises `TileError` E1406 for shapes that do not fit, E1407 for an axis or a type that does not,
    E1408 for scopes.
    Example: `T.reduce(F, R, "max", dim=1)`
    """
    b = state.builder(f"T.reduce_{reduce_type}")
    b.need_kernel(f"T.reduce_{reduce_type}")
    what = f"T.reduce_{reduce_type}"
    kind = _KINDS.get(reduce_type)
    if kind is None:
        raise TileError(
            "E1407", f"there is no reduction {reduce_type!r}", help=f"{', '.join(_KINDS)}"
        )
    src, dst = box(buffer, what), box(out, what)
    _check_scopes(src, dst, what)
    axis = _axis(dim, len(src.extents or ()), what)
    _check_out(src, dst, axis, what)
    integer = src.buffer.dtype.is_int or src.buffer.dtype.is_bool
    if kind in ("and", "or", "xor") and not integer:
        raise TileError(
            "E1407",
            f"{what} combines bits, {src.buffer.name} holds {src.buffer.dtype}",
            help="bits of floats: view the buffer as an integer type with T.view",
        )
    b.emit(
        Reduce(
            kind=kind,
            src=src.region,
            dst=dst.region,
            dim=axis,
            clear=bool(clear),
            nan="propagate" if nan_propagate else "ignore",
            span=b.span,
        )
    )


def _check_scopes(src: Tile, dst: Tile, what: str) -> None:
    scopes = (src.buffer.scope, dst.buffer.scope)
    if any(s not in _SCOPES for s in scopes) or (scopes[0] == "local") != (scopes[1] == "local"):
        raise TileError(
            "E1408",
            f"{what} goes from a {scopes[0]} to a {scopes[1]} buffer",
            help="copy a global tile into a fragment first; local arrays reduce into local arrays",
        )


def _axis(dim: Any, rank: int, what: str) -> int:
    axis = static_int(dim)
    if axis is None or not -rank <= axis < rank:
        raise TileError(
            "E1407",
            f"{what} has dim={dim!r}",
            help=f"the tile has {rank} axes: {-rank} to {rank - 1}",
        )
    return axis % rank


def _check_out(src: Tile, dst: Tile, axis: int, what: str) -> None:
    extents, out = list(src.extents or ()), list(dst.extents or ())
    absent = [*extents[:axis], *extents[axis + 1 :]]
    left = len(out) == len(extents)
    kept = [*out[:axis], *out[axis + 1 :]] if left else out
    unit = not left or same(out[axis], build.const(1, "i32"))
    if len(kept) != len(absent) or not unit or not all(map(same, kept, absent)):
        wanted = ", ".join(str(e) for e in absent) or "1"
        raise TileError(
            "E1406",
            f"{what} along axis {axis} of {src} does not fit {dst}",
            help=f"the output has extents ({wanted}), or 1 at axis {axis}",
        )


def _named(kind: str, meaning: str, keeps: bool = True) -> Callable[..., None]:
    def reduction(
        buffer: Any,
        out: Any,
        dim: int = -1,
        clear: bool = True,
        batch: int = 1,
        nan_propagate: bool = True,
        annotations: Any = None,
    ) -> None:
        reduce(buffer, out, kind, dim, clear if keeps else True, batch, nan_propagate)

    reduction.__name__ = reduction.__qualname__ = f"reduce_{kind}"
    always = "" if keeps else "\n\n    It always starts afresh."
    tile = "I, J" if kind.startswith("bit") else "F, R"
    reduction.__doc__ = f"""{meaning} along axis `dim` of a tile, into `out`.

    Arguments and errors are those of `T.reduce`.{always}
    Example: `T.reduce_{kind}({tile}, dim=1)`
    """
    return reduction


reduce_sum = _named("sum", "The sum")
reduce_max = _named("max", "The maximum")
reduce_min = _named("min", "The minimum")
reduce_absmax = _named("absmax", "The maximum of absolute values")
reduce_abssum = _named("abssum", "The sum of absolute values", keeps=False)
reduce_bitand = _named("bitand", "The bitwise and (integers and bools)")
reduce_bitor = _named("bitor", "The bitwise or (integers and bools)")
reduce_bitxor = _named("bitxor", "The bitwise exclusive or (integers and bools)")


def _scan(kind: str, src: Any, dst: Any, dim: int, reverse: bool) -> None:
    what = f"T.cum{kind}"
    b = state.builder(what)
    b.need_kernel(what)
    a = box(src, what)
    c = a if dst is None else box(dst, what)
    _check_scopes(a, c, what)
    if len(a.extents or ()) != len(c.extents or ()) or not all(
        map(same, a.extents or (), c.extents or ())
    ):
        raise TileError("E1412", f"{what} goes from {a} to {c}", help="both have the same shape")
    axis = _axis(dim, len(a.extents or ()), what)
    b.emit(
        Scan(kind=kind, src=a.region, dst=c.region, dim=axis, reverse=bool(reverse), span=b.span)
    )


def cumsum(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, annotations: Any = None
) -> None:
    """The running sum along `dim`, each element included; from the end when `reverse`. In place
    without `dst`.

    Raises `TileError` E1412 when the shapes differ, E1407 for a bad axis, E1408 for global buffers.
    Example: `T.cumsum(S, S2, dim=1)`
    """
    _scan("sum", src, dst, dim, reverse)


def cummax(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, annotations: Any = None
) -> None:
    """The running maximum along `dim`, each element included; from the end when `reverse`. In place
    without `dst`.

    Raises `TileError` E1412 when the shapes differ, E1407 for a bad axis, E1408 for global buffers.
    Example: `T.cummax(S, dim=0)`
    """
    _scan("max", src, dst, dim, reverse)
