"""What functions of array libraries make of a value or buffer of the kernel: an error that names
the language's own function, instead of the library's about an object that it does not know.

The libraries ask by protocol (`__array_ufunc__` and its like), so none of them is imported here.
"""

from __future__ import annotations

import operator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from tile_frontend.trace.vocabulary import NAMES, TileAttributeError
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["OfTheDevice"]

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "add": operator.add,
        "subtract": operator.sub,
        "multiply": operator.mul,
        "divide": operator.truediv,
        "floor_divide": operator.floordiv,
        "remainder": operator.mod,
        "power": operator.pow,
        "less": operator.lt,
        "less_equal": operator.le,
        "greater": operator.gt,
        "greater_equal": operator.ge,
        "equal": operator.eq,
        "not_equal": operator.ne,
        "bitwise_and": operator.and_,
        "bitwise_or": operator.or_,
        "bitwise_xor": operator.xor,
        "left_shift": operator.lshift,
        "right_shift": operator.rshift,
    }
)
"""What a scalar of numpy calls for an operator whose other side is a value of the kernel."""


class OfTheDevice:
    """Base of what exists only when the kernel runs."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        """Only names that the class lacks come here: those of arrays, above all."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise _no_attribute(self, name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Operators between a scalar of numpy and a value are the value's; else an error."""
        apply = _OPERATORS.get(ufunc.__name__)
        if apply is None or method != "__call__" or options:
            raise _refused(ufunc, inputs)
        return apply(*(x if isinstance(x, OfTheDevice) else x.item() for x in inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """No other function of numpy computes in the kernel."""
        raise _refused(function, args)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), options: Any = None
    ) -> Any:
        """Operators of a tensor are left to the other side; else an error."""
        if getattr(function, "__objclass__", None) is not None:
            return NotImplemented
        raise _refused(function, args)


def _no_attribute(owner: object, name: str) -> TileError:
    candidates = (name, f"reduce_{name}", {"T": "transpose", "to": "cast"}.get(name, ""))
    named = next((n for n in candidates if n in NAMES), None)
    return TileAttributeError(
        "E1504",
        f"{owner!r} has no attribute {name!r}",
        notes=("functions of arrays are the language's, of one element or of a tile",),
        help=f"write T.{named}(...)" if named else "see the language reference",
    )


def _refused(function: Any, args: Any) -> TileError:
    given = next((a for a in args if isinstance(a, OfTheDevice)), None)
    what = "a value of the kernel" if given is None else repr(given)
    return TileError(
        "E1005",
        f"{function.__name__} of an array library was called on {what}",
        notes=("the library computes while the kernel is traced; the value exists when it runs",),
        help="use the language's function of one element, such as T.exp or T.max, or a tile "
        "operation, such as T.reduce_sum",
    )
