"""The running side of rewritten code: one frame for each call of a traced function.

A frame knows where the statement being executed stands, what its names are bound to and where they
were bound. Names bound in a traced scope die with it; a name read in a traced loop must not be
bound anew there, for the new value would not reach the next trip.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tile_frontend.trace import flow, logic
from tile_frontend.trace.buffers import BufferRef, Element, VarRef
from tile_frontend.trace.builder import Builder, Scope, converted
from tile_frontend.trace.element_types import ElementType
from tile_frontend.trace.values import Value, has_load
from tile_ir.diag import Span, TileError

if TYPE_CHECKING:
    from tile_frontend.rewrite.statements import Row

_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
    "MatMult": operator.imatmul,
}

ParamHook = Callable[[str, Any], Any]
DeclareHook = Callable[[str, Any], Any]


class Frame:
    """One execution of a rewritten function. `at` is the row of the current statement."""

    __slots__ = (
        "_given",
        "at",
        "base",
        "bound",
        "builder",
        "declare",
        "loops",
        "on_param",
        "parent",
        "rows",
    )

    def __init__(
        self,
        builder: Builder,
        rows: tuple[Row, ...],
        on_param: ParamHook,
        declare: DeclareHook,
    ) -> None:
        self.builder = builder
        self.rows = rows
        self.on_param = on_param
        self.declare = declare
        self.parent = builder.span if builder.frames else None
        self.base = len(builder.scopes)
        self.bound: dict[str, tuple[Any, Scope]] = {}
        self.loops: list[flow.Loop] = []
        self._given = (-1, 0)
        self.at = 0

    @property
    def span(self) -> Span:
        """The place of the current statement; its parents are the macro calls that led here."""
        span = self.rows[self.at].span
        if self.parent is None:
            return span
        return Span(span.file, span.line, span.col, span.end_line, span.end_col, self.parent)

    def next_name(self, default: str) -> str:
        """The name for what the current statement makes next: its targets in turn, the last one
        again.
        """
        names = self.rows[self.at].names
        if not names:
            return default
        row, given = self._given
        given = given if row == self.at else 0
        self._given = (self.at, given + 1)
        return names[min(given, len(names) - 1)]

    # -- names

    def param(self, name: str, value: Any) -> Any:
        """Bind a parameter on entry."""
        try:
            value = self.on_param(name, value)
        except TileError as error:
            raise error.at(self.parent) from error.__cause__
        self._bind(name, value)
        return value

    def _bind(self, name: str, value: Any) -> None:
        self.bound[name] = (value, self.builder.scopes[-1])

    def read(self, name: str, value: Any) -> Any:
        """A read of a name that was bound in some block."""
        bound = self.bound.get(name)
        if bound is None:
            return value
        scope = bound[1]
        if not scope.open:
            raise _dead(name, *bound)
        self.builder.scopes[-1].reads.add(name)
        return value

    def assign(self, name: str, value: Any) -> Any:
        """`name = value`: store into a mutable scalar, else make an alias."""
        bound = self.bound.get(name)
        remade = isinstance(value, VarRef) and value.fresh
        if bound is not None and isinstance(bound[0], VarRef) and bound[1].open and not remade:
            if value is not bound[0]:
                bound[0].store(value)
            return bound[0]
        return self._alias(name, self.keep(name, value))

    def target(self, name: str, value: Any) -> Any:
        """Bind a name to what Python or a loop has just given it."""
        return self._alias(name, value)

    def _alias(self, name: str, value: Any) -> Any:
        bound = self.bound.get(name)
        if bound is not None and bound[1].open:
            self._refuse_carried(name, bound[1])
        self._bind(name, value)
        return value

    def _refuse_carried(self, name: str, home: Scope) -> None:
        for scope in reversed(self.builder.scopes):
            if scope is home:
                return
            if scope.loops and name in self._reads_within(scope):
                raise _carried(name, scope)

    def _reads_within(self, loop: Scope) -> set[str]:
        scopes = self.builder.scopes
        return set().union(*(s.reads for s in scopes[scopes.index(loop) :]))

    def keep(self, name: str, value: Any) -> Any:
        """What a name or attribute shall hold: loads are made now, under that name."""
        if isinstance(value, VarRef):
            if value.fresh:
                value.fresh = False
                return value
            return self.builder.let(name, value.expr)
        if isinstance(value, Element):
            return self.builder.let(name, value.read(), value)
        if isinstance(value, Value):
            expr = value.read()
            return self.builder.let(name, expr) if has_load(expr) else value
        if type(value) in (list, tuple):
            return type(value)(self.keep(name, v) for v in value)
        return value

    def augment(self, name: str, old: Any, op: str, value: Any) -> Any:
        """`name += value`."""
        self.read(name, old)
        if isinstance(old, (Value, BufferRef)) or isinstance(value, Value):
            return self.assign(name, _INPLACE[op](old, value))
        return self._alias(name, _INPLACE[op](old, value))

    def set_item(self, value: Any, target: Any, key: Any) -> None:
        """`target[key] = value` for any target; an item that is a mutable scalar is stored to."""
        if isinstance(target, (BufferRef, VarRef)):
            target[key] = value
            return
        old = _item(target, key)
        if isinstance(old, VarRef):
            old.store(value)
        else:
            target[key] = self.keep("item", value)

    def augment_item(self, value: Any, target: Any, key: Any, op: str) -> None:
        """`target[key] += value`."""
        self.set_item(_INPLACE[op](target[key], value), target, key)

    def unpack(self, count: int, names: tuple[str, ...], value: Any) -> list[Any]:
        """The parts of a tuple assignment, every load made before the first store."""
        parts = list(value)
        if len(parts) != count:
            raise ValueError(f"expected {count} values to unpack, got {len(parts)}")
        return [self.keep(name, part) for name, part in zip(names, parts, strict=True)]

    def convert(self, annotation: Any, value: Any) -> Any:
        """`name: annotation = value`: an element type converts, anything else is for readers."""
        if isinstance(annotation, ElementType):
            return Value(converted(value, annotation.ir))
        return value

    # -- control flow

    def branch(self, cond: Any, has_else: bool) -> flow.Branch:
        """`if cond`."""
        return flow.branch(self.builder, cond, has_else)

    def range(self, python_range: Any, *args: Any) -> Any:
        """`range(...)` in a loop header: a traced serial loop when a bound is traced."""
        return flow.range_(python_range, args)

    def loop(self, source: Any) -> Iterator[Any]:
        """`for ... in source`."""
        return flow.loop(self, source)

    def while_(self, cond: Callable[[], Any]) -> Iterator[None]:
        """`while cond`."""
        return flow.while_(self, cond)

    def break_(self) -> bool:
        """`break`: True when Python shall do it."""
        return flow.leave(self, "break")

    def continue_(self) -> bool:
        """`continue`: True when Python shall do it."""
        return flow.leave(self, "continue")

    def raise_(self) -> None:
        """`raise` is for mistakes seen while tracing; it must not stand in a traced branch."""
        self._refuse_in_traced("raise", "E1017", "use `assert` or T.device_assert")

    def return_(self, value: Any) -> Any:
        """`return value`."""
        self._refuse_in_traced(
            "return", "E1008", "assign to a T.alloc_var, or return after the branch"
        )
        self.builder.return_span = self.span
        return value

    def _refuse_in_traced(self, word: str, code: str, instead: str) -> None:
        for scope in self.builder.scopes[self.base :]:
            if scope.kind != "kernel":
                raise TileError(
                    code,
                    f"`{word}` stands in a branch or loop that is decided only when the kernel "
                    "runs",
                    self.span,
                    notes=(f"the branch or loop starts at {scope.span}",),
                    help=instead,
                )

    def check(self, cond: Any, message: Callable[[], Any]) -> None:
        """`assert cond, message`."""
        flow.check(self.builder, cond, message)

    # -- lazy operators

    def and_(self, first: Any, *rest: Callable[[], Any]) -> Any:
        """`a and b`."""
        return logic.chain(self.builder, "land", first, rest)

    def or_(self, first: Any, *rest: Callable[[], Any]) -> Any:
        """`a or b`."""
        return logic.chain(self.builder, "lor", first, rest)

    def not_(self, value: Any) -> Any:
        """`not a`."""
        return logic.not_(value)

    def if_else(self, cond: Any, t: Callable[[], Any], f: Callable[[], Any]) -> Any:
        """`t if cond else f`."""
        return logic.if_else(self.builder, cond, t, f)

    def compare(self, ops: tuple[str, ...], first: Any, *rest: Callable[[], Any]) -> Any:
        """`a < b < c`."""
        return logic.compare(self.builder, ops, first, rest)


def _item(container: Any, key: Any) -> Any:
    try:
        return container[key]
    except (LookupError, TypeError, AttributeError):
        return None


def _dead(name: str, value: Any, scope: Scope) -> TileError:
    where = {"if": "branch", "kernel": "kernel"}.get(scope.kind, "loop")
    return TileError(
        "E1006",
        f"{name!r} was bound in a {where} that has ended",
        notes=(
            f"the {where} starts at {scope.span}",
            "whether, or how often, its body runs is not known while tracing",
        ),
        help=f"`=` only gives a name: T.copy(source, {name}) writes into what {name} was before"
        if isinstance(value, BufferRef)
        else f"make {name} = T.alloc_var(dtype) before the {where} and assign to it inside",
    )


def _carried(name: str, scope: Scope) -> TileError:
    return TileError(
        "E1007",
        f"{name!r} is read and then bound anew in a loop",
        notes=(
            f"the loop starts at {scope.span}; its body is traced once, so the new value would "
            "not reach the next trip",
        ),
        help=f"make {name} = T.alloc_var(dtype, init=...) before the loop; then assigning to it "
        "stores",
    )
