"""`T.prim_func`: a function traced at once from its annotations, without arguments."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tile_frontend.rewrite.source import function_node, header_span
from tile_frontend.trace import state
from tile_frontend.trace.annotated import annotations_of
from tile_frontend.trace.buffers import BufferRef
from tile_frontend.trace.builder import Builder
from tile_frontend.trace.execute import execute
from tile_frontend.trace.pointers import Pointer, PointerType
from tile_frontend.trace.tensors import TensorType, scalar_type
from tile_frontend.trace.values import Value
from tile_ir.core import Function, Param
from tile_ir.diag import Span, TileError
from tile_ir.expr import Var

if TYPE_CHECKING:
    from types import FunctionType

__all__ = ["PrimFunc", "prim_func"]


@dataclass(frozen=True, slots=True)
class PrimFunc:
    """A traced function: its program, and the settings that its body asked for.

    `tile.compile` makes a kernel of it. Example: `T.PrimFunc`
    """

    function: Function
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.name

    def script(self) -> str:
        """The program as text."""
        from tile_ir.text import print_function  # tracing itself needs no printer

        return print_function(self.function)

    def show(self) -> None:
        """Print the program."""
        print(self.script())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TileError(
            "E1110",
            f"{self.name} is a traced function, not a compiled kernel",
            help="compile it: kernel = tile.compile(func, out_idx=...), or return it from a "
            "@tile.jit function",
        )

    def __str__(self) -> str:
        return self.script()


def prim_func(fn: FunctionType | None = None, *, eager_jit: bool = False) -> Any:
    """Decorate a function with annotated parameters; it is traced at once and becomes a `PrimFunc`.

    Parameters are tensors (`T.Tensor`, `T.StridedTensor`) or scalars (`T.int32`), passed at run
    time.

    Raises `TileError` E1101 for a parameter without annotation, E1102 for one of another kind, and
    whatever the body does wrong.
    Example: `T.prim_func`
    """
    outer = sys._getframe(1).f_locals

    def trace(target: FunctionType) -> PrimFunc:
        return traced_function(target, outer)

    return trace if fn is None else trace(fn)


def traced_function(fn: FunctionType, outer: dict[str, Any]) -> PrimFunc:
    """Trace `fn` by its annotations; `outer` are the local variables around its definition."""
    node = function_node(fn)
    head = header_span(node, fn.__code__.co_filename)
    b = Builder(fn.__name__, head)
    annotations = annotations_of(fn, outer, head)
    arguments = {
        name: _parameter(b, fn, name, annotations.get(name, inspect.Parameter.empty), head)
        for name in inspect.signature(fn).parameters
    }
    with state.tracing(b):
        result = execute(b, fn, (), arguments, lambda _, value: value, _no_declaration)
        b.results = results_of(b, result)
    return PrimFunc(b.function(), dict(b.settings))


def _parameter(b: Builder, fn: FunctionType, name: str, annotation: Any, span: Span) -> Any:
    if annotation is inspect.Parameter.empty:
        raise TileError(
            "E1101",
            f"the parameter {name!r} of {fn.__name__} has no annotation",
            span,
            help="write its type: T.Tensor((M, N), T.float32) for a tensor, T.int32 for a scalar",
        )
    made = declared(b, name, annotation, span)
    if made is None:
        raise TileError(
            "E1102",
            f"the parameter {name!r} of {fn.__name__} is annotated with {annotation!r}",
            span,
            help="a parameter is a T.Tensor, a T.StridedTensor or an element type such as T.int32",
        )
    return made


def declared(b: Builder, name: str, annotation: Any, span: Span | None) -> Any:
    """Declare the parameter that `annotation` describes; None when it describes none."""
    if isinstance(annotation, TensorType):
        if annotation.scope != "global":
            return None
        buffer = annotation.buffer(name, span)
        b.add_param(name, Param(buffer=buffer))
        return BufferRef(buffer)
    if isinstance(annotation, PointerType):
        return Pointer(b, name, annotation, span)
    kind = scalar_type(annotation)
    if kind is None:
        return None
    var = Var(name, kind)
    b.add_param(name, Param(scalar=var))
    return Value(var)


def _no_declaration(name: str, annotation: Any) -> Any:
    raise TileError(
        "E1102",
        f"{name!r} is declared in the body of a @T.prim_func",
        help="annotate the parameter in the signature",
    )


def results_of(b: Builder, returned: Any) -> tuple[str, ...]:
    """The names of the outputs that a function returned.

    Raises `TileError` E1103 for anything but outputs.
    """
    if returned is None:
        return ()
    items = returned if isinstance(returned, (tuple, list)) else (returned,)
    for item in items:
        if not isinstance(item, BufferRef) or item.name not in b.outputs:
            raise TileError(
                "E1103",
                f"{b.name} returns {item!r}",
                b.return_span or b.function_span,
                notes=("a kernel function returns tensors that the runtime allocates",),
                help="return what T.empty(...) made; tensors of the caller are changed in place",
            )
    return tuple(item.name for item in items)
