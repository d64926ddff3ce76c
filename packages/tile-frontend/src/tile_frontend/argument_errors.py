"""The errors of a launch.

Each names the argument, says what was declared and what came, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.trace.buffers import BufferRef
from tile_frontend.trace.element_types import LONG_NAMES
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_frontend.adapters.base import ArrayInfo
    from tile_frontend.dims import Equation
    from tile_ir.core import Buffer
    from tile_ir.types import DType


class ArgumentError(TileError, ValueError):
    """An argument that does not fit its parameter; also a `ValueError` to Python."""


def count(function: str, names: Sequence[str], given: int) -> ArgumentError:
    """A wrong number of arguments."""
    return ArgumentError(
        "E2001",
        f"{function} takes {len(names)} argument{'s' * (len(names) != 1)}, got {given}",
        notes=(f"they are {', '.join(names) or 'none'}",),
        help="pass them in this order; outputs are returned, not passed",
    )


def dtype(buffer: Buffer, given: DType) -> ArgumentError:
    """A wrong element type."""
    name, wanted = _long(given), _long(buffer.dtype)
    return ArgumentError(
        "E2002",
        f"argument {buffer.name!r} has element type {name}, the kernel expects {wanted}",
        notes=(_declared(buffer),),
        help=f"convert it to {wanted} before the call, or declare the parameter as {name}",
    )


def unpacked(buffer: Buffer, given: DType) -> ArgumentError:
    """An array that is not the packed bytes of a type narrower than a byte."""
    per_byte = 8 // buffer.dtype.storage_bits
    return ArgumentError(
        "E2002",
        f"argument {buffer.name!r} is an array of {_long(given)}, the kernel expects packed bytes",
        notes=(
            _declared(buffer),
            f"{per_byte} elements share a byte along the last axis, the first in the low bits",
        ),
        help="pack it into an array of uint8 or int8",
    )


def rank(buffer: Buffer, info: ArrayInfo) -> ArgumentError:
    """A wrong number of axes."""
    return ArgumentError(
        "E2003",
        f"argument {buffer.name!r} has {len(info.shape)} "
        f"{'axis' if len(info.shape) == 1 else 'axes'}, the kernel expects "
        f"{len(buffer.shape)}",
        notes=(_declared(buffer), f"its shape is {info.shape}"),
        help="reshape it before the call",
    )


def extent(
    equation: Equation, expected: int, known: Mapping[str, int], others: Sequence[Equation]
) -> ArgumentError:
    """An extent or stride that contradicts its declaration, or another argument."""
    sources = [
        f"{o} is {o.value}"
        for o in others
        if o is not equation and o.expr is equation.expr and o.value == expected
    ]
    notes = [f"it is declared as `{equation.expr}`"] if known else []
    notes += sources[:1]
    return ArgumentError(
        "E2005" if sources else "E2004",
        f"argument {equation.name!r} has {_measured(equation)}, the kernel expects {expected}",
        notes=tuple(notes),
        help="pass tensors whose shapes agree with the declarations",
    )


def unsolvable(equation: Equation) -> ArgumentError:
    """An extent for which no dimension has a whole, non-negative value."""
    return ArgumentError(
        "E2004",
        f"argument {equation.name!r} has {_measured(equation)}, "
        f"which `{equation.expr}` can never be",
        help="pass a tensor whose shape agrees with the declaration",
    )


def undetermined(names: Sequence[str]) -> ArgumentError:
    """Dimensions that no argument tells."""
    return ArgumentError(
        "E2011",
        f"no argument determines the dimension{'s' * (len(names) > 1)} {', '.join(names)}",
        notes=("a dimension is read from an extent or stride that is linear in it alone",),
        help="use it by itself as an extent of some tensor, or pass it as a scalar parameter",
    )


def strides(buffer: Buffer, info: ArrayInfo, wanted: tuple[int, ...]) -> ArgumentError:
    """Elements that are not where a row-major tensor has them."""
    return ArgumentError(
        "E2006",
        f"argument {buffer.name!r} is not contiguous",
        notes=(f"its strides are {info.strides or 'no whole elements'}, expected {wanted}",),
        help="pass a contiguous copy (numpy.ascontiguousarray, tensor.contiguous()), "
        "or declare it as T.StridedTensor",
    )


def overlapping(buffer: Buffer, info: ArrayInfo) -> ArgumentError:
    """Elements that share memory, of a tensor that is written."""
    return ArgumentError(
        "E2006",
        f"elements of argument {buffer.name!r} share memory, but the kernel writes to it",
        notes=(f"its extents are {info.shape} and its strides {info.strides}",),
        help="pass a copy, in which every element has a place of its own",
    )


def device(name: str, given: str, wanted: str) -> ArgumentError:
    """Memory that the kernel cannot reach."""
    return ArgumentError(
        "E2007",
        f"argument {name!r} is on device {given!r}, the kernel runs on {wanted!r}",
        help=f"move it to {wanted!r} before the call, or compile for its device with target=",
    )


def devices(name: str, given: int, wanted: int) -> ArgumentError:
    """Memory of another device of the same kind."""
    return ArgumentError(
        "E2007",
        f"argument {name!r} is on device {given}, others are on device {wanted}",
        help="move all arguments of a call to one device",
    )


def shared_memory(
    names: tuple[str, str], infos: tuple[ArrayInfo, ArrayInfo], at: tuple[int, int], again: bool
) -> ArgumentError:
    """Two arrays that share memory, the first of which is written."""
    (a, b), (one, other) = names, infos
    where = f"{b} begins {at[1] - at[0]} bytes from the begin of {a}"
    notes = (
        f"{where}; their extents are {one.shape} and {other.shape}",
        f"the kernel reads {b} again behind T.sync_grid, as nobody had written to it"
        if again
        else "what the kernel reads of it would depend on when it writes",
    )
    return ArgumentError(
        "E2018",
        f"arguments {a!r} and {b!r} share memory, and the kernel writes to {a!r}",
        notes=notes,
        help="pass a copy of one of them (tensor.clone(), array.copy())"
        + ("" if again else ", or one array with the same extents for both"),
    )


def alignment(name: str, address: int, wanted: int) -> ArgumentError:
    """An address that is no multiple of what the kernel needs."""
    return ArgumentError(
        "E2016",
        f"argument {name!r} begins at an address that is no multiple of {wanted} bytes",
        notes=(f"its address is {address:#x}, perhaps that of a view into another tensor",),
        help="pass a copy (tensor.clone(), array.copy()), whose memory is aligned",
    )


def missing(name: str) -> ArgumentError:
    """None for a tensor that is used."""
    return ArgumentError(
        "E2008",
        f"argument {name!r} is None, but the kernel uses it",
        help="pass a tensor; only a parameter that the kernel never touches may be None",
    )


def no_array(name: str, given: Any) -> ArgumentError:
    """Something that is no array."""
    return ArgumentError(
        "E2009",
        f"argument {name!r} is an object of type {type(given).__name__}, the kernel expects a "
        "tensor",
        help="pass a numpy array, a torch tensor, or anything that speaks DLPack",
    )


def unreadable(name: str, why: str) -> ArgumentError:
    """An array whose memory does not hold its numbers one after the other."""
    what, _, instead = why.partition(": ")
    return ArgumentError(
        "E2009",
        f"a kernel cannot read the memory of argument {name!r}",
        notes=(what,),
        help=instead,
    )


def scalar(name: str, wanted: DType, given: Any) -> ArgumentError:
    """A scalar of another kind, or out of range."""
    limits = (
        ""
        if wanted.is_float or wanted.is_bool
        else f" from {wanted.min_value} to {wanted.max_value}"
    )
    return ArgumentError(
        "E2010",
        f"argument {name!r} is {given!r}, the kernel expects a {_long(wanted)}{limits}",
        help="pass a Python number of that kind",
    )


def read_only(name: str) -> ArgumentError:
    """A read-only array that the kernel writes."""
    return ArgumentError(
        "E2012",
        f"argument {name!r} is read-only, but the kernel writes to it",
        help="pass a writable copy",
    )


def _long(t: DType) -> str:
    return LONG_NAMES.get(t.scalar.name, t.name)


def _declared(buffer: Buffer) -> str:
    return f"it is declared as {BufferRef(buffer)!r}"


def _measured(equation: Equation) -> str:
    what = "stride" if equation.is_stride else "extent"
    return f"{what} {equation.value} along axis {equation.axis}"
