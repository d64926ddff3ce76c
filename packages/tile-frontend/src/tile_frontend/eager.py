"""The eager style: the body of the function is the kernel, its tensors declared by annotations in
it.

The values of `T.const` dimensions come from the arguments: the function is traced up to where they
are determined, then again with them as plain ints. What is compiled is one kernel for each
combination of Python arguments and such values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tile_frontend import argument_errors as wrong
from tile_frontend.bind import equations_of, inspected
from tile_frontend.dims import solve
from tile_frontend.language.function import PrimFunc, declared, results_of
from tile_frontend.rewrite.source import function_node, header_span
from tile_frontend.specialize import unfit
from tile_frontend.trace import state
from tile_frontend.trace.annotated import annotations_of
from tile_frontend.trace.builder import Builder
from tile_frontend.trace.execute import execute
from tile_frontend.trace.tensors import TensorType
from tile_frontend.trace.values import Value
from tile_frontend.trace.values import dtype as ElementType
from tile_ir.diag import Span, TileError
from tile_ir.expr import Var

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FunctionType

    from tile_frontend.adapters.base import ArrayInfo
    from tile_frontend.specialize import Call
    from tile_ir.core import Buffer
    from tile_ir.types import DType


class _Determined(BaseException):
    """Tracing has gone far enough to know the T.const dimensions."""


@dataclass
class Undeclared:
    """A tensor argument before its annotation; only its element type can be asked for."""

    name: str
    info: ArrayInfo | None
    owner: Tracing = field(repr=False)

    @property
    def dtype(self) -> Any:
        """The element type of the argument, so that a kernel can take any."""
        return self.__getattr__("dtype") if self.info is None else ElementType.of(self.info.dtype)

    def __getattr__(self, what: str) -> Any:
        if what.startswith("__"):
            raise AttributeError(what)
        raise TileError(
            "E1113",
            f"{self.name!r} is used before it is declared",
            help=f"write `{self.name}: T.Tensor((M, N), T.float32)` at the head of the function",
        )

    __getitem__ = __getattr__

    def __bool__(self) -> bool:
        self.__getattr__("truth")
        return False


@dataclass
class Tracing:
    """One trace of an eager function for one call.

    `consts` grows until every dimension is determined.
    """

    fn: FunctionType
    call: Call
    outer: Mapping[str, Any]
    consts: dict[str, int]
    complete: bool = False
    infos: dict[str, ArrayInfo] = field(default_factory=dict)
    wanted: dict[str, Span | None] = field(default_factory=dict)
    declared: dict[str, Buffer] = field(default_factory=dict)
    solved: frozenset[str] = frozenset()
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name, array in self.call.arrays.items():
            self.infos[name] = inspected(name, array)

    def run(self) -> PrimFunc | Any:
        """Trace the whole function (`complete`), or until `_Determined`."""
        node = function_node(self.fn)
        head = header_span(node, self.fn.__code__.co_filename)
        b = Builder(self.fn.__name__, head)
        b.settings["const"] = self.const
        if not self.complete:
            b.on_kernel = self._at_kernel
        self.builder = b
        self.signature = annotations_of(self.fn, dict(self.outer), head)
        with state.tracing(b):
            result = execute(
                b, self.fn, (), self._arguments(), self._parameter, self.declare, self.outer
            )
            if isinstance(result, PrimFunc):
                return result
            b.results = results_of(b, result)
            self._check_declared()
        order = [
            *self.fn.__code__.co_varnames[
                : self.fn.__code__.co_argcount + self.fn.__code__.co_kwonlyargcount
            ]
        ]
        b.params = dict(sorted(b.params.items(), key=lambda p: _place(order, p[0])))
        settings = {k: v for k, v in b.settings.items() if k != "const"}
        return PrimFunc(b.function(), settings)

    def _arguments(self) -> dict[str, Any]:
        tensors = {
            n: Undeclared(n, self.infos.get(n), self)
            for n in (*self.call.arrays, *self.call.absent)
        }
        scalars = {
            n: declared(self.builder, n, ElementType.of(kind), None)
            for n, kind in self.call.scalars.items()
        }
        return {**self.call.static, **tensors, **scalars}

    def _parameter(self, name: str, value: Any) -> Any:
        annotation = self.signature.get(name)
        if isinstance(annotation, TensorType):
            return self.declare(name, annotation)
        return value

    def declare(self, name: str, annotation: Any) -> Any:
        """`A: T.Tensor(...)` in the body or the signature."""
        if not isinstance(annotation, TensorType):
            raise TileError(
                "E1102",
                f"{name!r} is declared as {annotation!r}",
                help="declare tensors as T.Tensor(...); Python arguments need no annotation",
            )
        if name in self.call.static and self.call.static[name] is not None:
            raise wrong.no_array(name, self.call.static[name])
        made = declared(self.builder, name, annotation, self.builder.span)
        self.declared[name] = made.buffer
        self._solve(made.buffer)
        return made

    def _solve(self, buffer: Buffer) -> None:
        info = self.infos.get(buffer.name)
        if info is not None and len(info.shape) != len(buffer.shape):
            raise wrong.rank(buffer, info)
        if self.complete or all(n in self.consts for n in self.wanted):
            return
        equations = [
            e for n, b in self.declared.items() for e in equations_of(b, self.infos.get(n))
        ]
        found, impossible = solve(equations, self.consts)
        if impossible is not None:
            raise wrong.unsolvable(impossible)
        self.solved = frozenset(found)
        if all(n in found for n in self.wanted):
            self.consts.update({n: found[n] for n in self.wanted})
            raise _Determined

    def const(self, name: str, dtype: DType) -> Any:
        """The value of a T.const dimension, or a stand-in until it is determined."""
        self.asked.add(name)
        if name in self.consts:
            return self.consts[name]
        if self.complete:
            raise _undetermined([name], self.builder.span)
        self.wanted[name] = self.builder.span
        return Value(Var(name, dtype))

    def _at_kernel(self) -> None:
        missing = [n for n in self.wanted if n not in self.consts and n not in self.solved]
        if missing:
            raise _undetermined(missing, self.wanted[missing[0]])
        raise _Determined

    def _check_declared(self) -> None:
        undeclared = [n for n in (*self.call.arrays, *self.call.absent) if n not in self.declared]
        if undeclared:
            raise TileError(
                "E1101",
                f"{', '.join(undeclared)} of {self.fn.__name__} is never declared",
                self.builder.function_span,
                help=f"write `{undeclared[0]}: T.Tensor((M, N), T.float32)` at the head of the "
                "function, or pass "
                "it a value when it is no tensor",
            )


def _place(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _undetermined(names: list[str], span: Span | None) -> TileError:
    return TileError(
        "E1104",
        f"nothing determines the value of T.const {', '.join(names)}",
        span,
        notes=("it is read from an extent or stride of an argument that is linear in it alone",),
        help=f"declare a tensor with {names[0]} as an extent, or give it: "
        f".compile({names[0]}=1024)",
    )


def determine(fn: FunctionType, call: Call, outer: Mapping[str, Any]) -> dict[str, int] | PrimFunc:
    """The values of the T.const dimensions of a call; or the traced function that the body returned
    (lazy style).
    """
    consts = dict(call.consts)
    while True:
        tracing = Tracing(fn, call, outer, consts)
        try:
            made = tracing.run()
        except _Determined:
            if all(n in consts for n in tracing.wanted) and not tracing.wanted:
                return consts
            continue
        return made if isinstance(made, PrimFunc) and not tracing.declared else consts


_DYNAMIC = (
    "leave it out: each call reads it off its arguments; commands take it as --dim NAME=VALUE"
)


def traced(
    fn: FunctionType, call: Call, outer: Mapping[str, Any], consts: Mapping[str, int]
) -> PrimFunc:
    """The whole function, traced with these T.const values. Raises `TileError` E1111 for a value
    whose name is none of them."""
    tracing = Tracing(fn, call, outer, dict(consts), complete=True)
    made: PrimFunc = tracing.run()
    dynamic = {dim.name for dim in made.function.dims}
    for name in call.consts:
        if name in dynamic:
            raise unfit(fn, f"{name!r} is a T.dynamic dimension, no part of the build", _DYNAMIC)
        if name not in tracing.asked:
            raise unfit(fn, f"got an unexpected keyword argument {name!r}")
    return made
