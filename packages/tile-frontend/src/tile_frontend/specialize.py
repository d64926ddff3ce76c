"""What a call of a kernel function is specialized on: Python arguments by value, arrays by type,
extents and strides. Parameters that are annotated with an element type are none of either: their
values come with each launch.
"""

from __future__ import annotations

import builtins
import inspect
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tile_frontend.adapters import is_array
from tile_frontend.trace.places import here
from tile_frontend.trace.values import dtype as ElementType
from tile_ir.diag import TileError
from tile_ir.types import dtype as ir_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FunctionType

    from tile_ir.types import DType


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one call by parameter name; `consts` are extra keywords that name T.const
    dimensions, `scalars` the types of parameters whose values come with each launch, of which
    `unset` have none yet.
    """

    arrays: dict[str, Any]
    static: dict[str, Any]
    absent: tuple[str, ...]
    consts: dict[str, int]
    scalars: Mapping[str, DType] = field(default_factory=dict)
    unset: tuple[str, ...] = ()

    @property
    def static_key(self) -> tuple[Any, ...]:
        """A hashable form of the Python arguments."""
        return tuple((name, frozen(name, value)) for name, value in self.static.items())


@lru_cache(maxsize=256)
def scalars_of(fn: FunctionType) -> Mapping[str, DType]:
    """The parameters annotated with an element type, `a: T.float32`, and their types. Python's own
    types say nothing: `block: int` is a Python argument."""
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount + fn.__code__.co_kwonlyargcount]
    found = ((n, _scalar_type(fn, fn.__annotations__[n])) for n in names if n in fn.__annotations__)
    return {name: kind for name, kind in found if kind is not None}


def _scalar_type(fn: FunctionType, annotation: Any) -> DType | None:
    if isinstance(annotation, str):
        cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        try:
            names = {n: c.cell_contents for n, c in cells}
            annotation = eval(annotation, fn.__globals__, names)
        except (
            Exception
        ):  # a name of the text alone, such as "float32", or tracing says what is wrong
            return _named_type(annotation)
    return annotation.ir if isinstance(annotation, ElementType) else None


def _named_type(text: str) -> DType | None:
    try:
        return None if hasattr(builtins, text) or not text.isidentifier() else ir_dtype(text)
    except TileError:
        return None


def read_call(
    fn: FunctionType, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Call:
    """Sort the arguments of a call into arrays, Python values, absent tensors and T.const values.

    Raises `TileError` E1111 when they do not fit the signature.
    """
    names, scalars = signature.parameters, scalars_of(fn)
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
    unset: list[str] = []
    for name, parameter in names.items():
        if name in scalars:
            if name not in bound.arguments and parameter.default is inspect.Parameter.empty:
                unset.append(name)
            continue
        if name in bound.arguments:
            value = bound.arguments[name]
        elif parameter.default is not inspect.Parameter.empty:
            value = parameter.default
        else:
            absent.append(name)
            continue
        (arrays if is_array(value) else static)[name] = value
    return Call(arrays, static, tuple(absent), extra, scalars, tuple(unset))


_UNFIT = "pass the function's own parameters; integers under other names are T.const dimensions"


def unfit(fn: FunctionType, why: str, instead: str = _UNFIT) -> TileError:
    """E1111 for arguments that do not fit the signature."""
    return TileError(
        "E1111",
        f"{fn.__name__}({', '.join(inspect.signature(fn).parameters)}): {why}",
        here(),
        help=instead,
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
