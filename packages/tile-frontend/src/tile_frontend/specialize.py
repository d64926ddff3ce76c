"""What a call of a kernel function is specialized on: Python arguments by value, arrays by type,
extents and strides.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_frontend.adapters import is_array
from tile_frontend.trace.places import here
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FunctionType


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one call by parameter name; `consts` are extra keywords that name T.const
    dimensions.
    """

    arrays: dict[str, Any]
    static: dict[str, Any]
    absent: tuple[str, ...]
    consts: dict[str, int]

    @property
    def static_key(self) -> tuple[Any, ...]:
        """A hashable form of the Python arguments."""
        return tuple((name, frozen(name, value)) for name, value in self.static.items())


def read_call(
    fn: FunctionType, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Call:
    """Sort the arguments of a call into arrays, Python values, absent tensors and T.const values.

    Raises `TileError` E1111 when they do not fit the signature.
    """
    names = signature.parameters
    own = {k: v for k, v in kwargs.items() if k in names}
    extra = {k: v for k, v in kwargs.items() if k not in names}
    try:
        bound = signature.bind_partial(*args, **own)
    except TypeError as cause:
        raise unfit(fn, str(cause)) from None
    wrong = [k for k, v in extra.items() if isinstance(v, bool) or not isinstance(v, int)]
    if wrong:
        raise unfit(fn, f"got an unexpected keyword argument {wrong[0]!r}")
    arrays: dict[str, Any] = {}
    static: dict[str, Any] = {}
    absent: list[str] = []
    for name, parameter in names.items():
        if name in bound.arguments:
            value = bound.arguments[name]
        elif parameter.default is not inspect.Parameter.empty:
            value = parameter.default
        else:
            absent.append(name)
            continue
        (arrays if is_array(value) else static)[name] = value
    return Call(arrays, static, tuple(absent), extra)


def unfit(fn: FunctionType, why: str) -> TileError:
    """E1111 for arguments that do not fit the signature."""
    return TileError(
        "E1111",
        f"{fn.__name__}({', '.join(inspect.signature(fn).parameters)}): {why}",
        here(),
        help="pass the function's own parameters; integers under other names are T.const "
        "dimensions",
    )


def frozen(name: str, value: Any) -> Any:
    """A hashable form of a Python argument that tells equal values of different types apart, and
    zeros of different signs.

    Raises `TileError` E1112 for an object that cannot be hashed.
    """
    if type(value) is float:
        return (float, value.hex())
    if isinstance(value, (list, tuple)):
        return (type(value), tuple(frozen(name, v) for v in value))
    if isinstance(value, (set, frozenset)):
        return (set, frozenset(frozen(name, v) for v in value))
    if isinstance(value, dict):
        return (dict, tuple((frozen(name, k), frozen(name, v)) for k, v in value.items()))
    try:
        hash(value)
    except (TypeError, ValueError) as cause:  # a writable memoryview raises the second
        raise TileError(
            "E1112",
            f"argument {name!r} of type {type(value).__name__} cannot be hashed",
            here(),
            notes=("a Python argument is compiled into the kernel, one kernel for each value",),
            help="pass a number, text, a tuple, a list or a dict of those, or a frozen dataclass",
        ) from cause
    return (type(value), value)
