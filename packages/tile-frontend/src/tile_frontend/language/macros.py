"""Macros: functions traced inline at every call, with names of their own and the call site in every
error.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef, Element, RegionRef, VarRef
from tile_frontend.trace.execute import execute
from tile_frontend.trace.values import Value
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from types import FunctionType

__all__ = ["Macro", "Ref", "inline", "macro"]

F = TypeVar("F")


class Ref:
    """Annotation of a macro's parameter that names the caller's variable itself: assigning to it
    stores there.

    The argument is a `T.alloc_var`, an element, a buffer or a region. Example: `T.Ref`
    """

    def __class_getitem__(cls, item: Any) -> type[Ref]:
        return cls


class Macro:
    """A function whose calls are traced in place; what `T.macro` makes of it.

    Its `if`, `for` and assignments work as in a kernel. Example: `T.Macro`
    """

    def __init__(self, fn: FunctionType, owner: Any = None) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.owner = owner
        self.signature = inspect.signature(fn)

    def __get__(self, instance: Any, owner: Any = None) -> Macro:
        return self if instance is None else Macro(self.fn, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        b = state.builder(f"the macro {self.fn.__name__}")
        if self.owner is not None:
            args = (self.owner, *args)
        if len(b.frames) >= _DEEPEST:
            raise TileError(
                "E1603",
                f"the macro {self.fn.__name__} is nested {_DEEPEST} calls deep",
                notes=(
                    "a macro is traced in place, so one that calls itself must stop by Python "
                    "values",
                ),
                help="use a loop, or end the recursion with an `if` on a Python argument",
            )
        return execute(b, self.fn, args, kwargs, self._argument, _no_declaration)

    def _argument(self, name: str, value: Any) -> Any:
        by_name = _is_ref(self.signature.parameters[name].annotation)
        if by_name:
            return self._referred(name, value)
        if isinstance(value, VarRef):
            return state.builder("a macro").let(name, value.expr)
        return value

    def _referred(self, name: str, value: Any) -> Any:
        origin = value.origin if isinstance(value, Value) else None
        if isinstance(value, (VarRef, BufferRef, RegionRef)):
            return value
        if isinstance(origin, Element):
            return ElementRef(origin)
        raise TileError(
            "E1601",
            f"{self.fn.__name__} takes {name} by reference, but {value!r} cannot be assigned to",
            help="pass a T.alloc_var, an element of a buffer, a buffer or a region",
        )


_DEEPEST = 48
"""Nesting of macros beyond which it is taken for endless; each level costs about ten Python frames.
"""


class ElementRef(VarRef):
    """An element that a macro assigns to by name."""

    __slots__ = ("element",)

    def __init__(self, element: Element) -> None:
        super().__init__(element.ref.buffer)
        self.element = element
        self.origin = element
        self.fresh = False

    @property
    def expr(self) -> Any:
        """A read of the element, made where it is used."""
        return self.element.expr

    def store(self, value: object) -> None:
        """Assign to the element."""
        buffer = self.element.ref.buffer
        state.builder("assigning to a T.Ref").store(buffer, self.element.indices, value)


def _is_ref(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2].partition("[")[0] == "Ref"
    return annotation is Ref


def _no_declaration(name: str, annotation: Any) -> Any:
    raise TileError(
        "E1102",
        f"a macro declares {name!r}, but only the function under @tile.jit declares tensors",
        help="annotate the macro's parameter instead, or leave the annotation out",
    )


def macro(fn: Any = None) -> Any:
    """Decorate a function whose calls are traced in place; it may return values and take `T.Ref`
    parameters.

    Raises `TileError` E1003 when called outside a kernel, E1601 for a T.Ref argument that cannot be
    assigned to.
    Example: `T.macro`
    """
    return macro if fn is None else Macro(fn)


inline = macro
