"""The one declaration of an op: printer, parser, verifier, visitors, effects and docs derive from
it.

An op is a frozen dataclass under `@op("name", syntax=..., ...)`. Its fields say what they are:

    src: Region = operand(READ)          # memory touched, with the effect on it
    value: Expr = operand(READ)          # an expression; the loads in it are reads
    dim: int = attr(-1)                  # a static property, printed when not the default
    body: Body = region()                # nested statements

`syntax` is the text form: words and punctuation as they are, `$field` for a field's text (bodies
print as `{ ... }`), `"$field"` for a string that is always quoted, `?(word $field)` for what is
left out while the field has its default. Fields that `syntax` does not mention are written `name =
value` (bare `name` for true), comma separated, in field order, before the first body or else at the
end.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from typing import TYPE_CHECKING, Any, TypeVar

from tile_ir.core import Region, Stage
from tile_ir.diag import InternalError
from tile_ir.expr import Expr, Load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import dataclass_transform

    from tile_ir.diag import Diagnostic, Span
else:

    def dataclass_transform(**_: Any) -> Any:
        """Python 3.10 lacks it, and only type checkers look at it."""
        return lambda fn: fn


T = TypeVar("T")


class Access(Flag):
    """What an operand's memory suffers."""

    READ = auto()
    WRITE = auto()
    UPDATE = auto()
    """Read, combined and written (accumulate, atomics)."""


READ, WRITE, UPDATE = Access.READ, Access.WRITE, Access.UPDATE


class Until(Enum):
    """When an effect is over: at once, when its token settles, or when its channel slot is
    committed."""

    NOW = "now"
    SETTLE = "settle"
    COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class Effect:
    """One access of a statement to memory."""

    access: Access
    region: Region | Load
    until: Until = Until.NOW
    proxy: str = "generic"

    @property
    def buffer(self) -> str:
        """The name of the buffer touched."""
        return self.region.buffer


@dataclass(frozen=True, slots=True, kw_only=True)
class Stmt:
    """Base of all statements. `span` is the user's place and takes no part in equality."""

    span: Span | None = field(default=None, compare=False)


Body = tuple[Stmt, ...]

if TYPE_CHECKING:
    # To a type checker a field declared with one of these has its annotated type.
    # ruff: noqa: D103 -- documented at their definitions below
    def operand(access: Access, default: Any = ...) -> Any: ...
    def attr(default: Any = ...) -> Any: ...
    def binds(default: Any = ...) -> Any: ...
    def region(default: Any = ...) -> Any: ...
else:

    def _declare(kind: str, default: Any = dataclasses.MISSING, **meta: Any) -> Any:
        return field(default=default, metadata={"kind": kind, **meta})

    def operand(access: Access, default: Any = dataclasses.MISSING) -> Any:
        """Declare a field that names memory (`Region`) or computes values (`Expr`)."""
        return _declare("operand", default, access=access)

    def attr(default: Any = dataclasses.MISSING) -> Any:
        """Declare a static property."""
        return _declare("attr", default)

    def binds(default: Any = dataclasses.MISSING) -> Any:
        """Declare a field (`Var`, tuple of `Var`, `Buffer`, name of a token) that the op brings
        into scope."""
        return _declare("binds", default)

    def region(default: Any = dataclasses.MISSING) -> Any:
        """Declare a field of nested statements (`Body`)."""
        return _declare("region", default)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpDef:
    """What the registry knows of an op."""

    name: str
    cls: type[Stmt]
    syntax: str
    since: tuple[int, int]
    stages: frozenset[Stage]
    fields: tuple[dataclasses.Field[Any], ...]
    kinds: Mapping[str, tuple[dataclasses.Field[Any], ...]]
    verify: Callable[[Any], list[Diagnostic]] | None
    doc: str

    def of_kind(self, kind: str) -> tuple[dataclasses.Field[Any], ...]:
        """The fields declared as `kind`: operand, attr, binds or region."""
        return self.kinds.get(kind, ())


OPS: dict[str, OpDef] = {}
_BY_CLASS: dict[type[Stmt], OpDef] = {}
ALL_STAGES = frozenset(Stage)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def op(
    name: str,
    *,
    syntax: str,
    since: tuple[int, int] = (1, 0),
    stages: frozenset[Stage] = ALL_STAGES,
) -> Callable[[type[T]], type[T]]:
    """Register the decorated class (its own fields declared, docstring present) as op `name`.

    A method `verify_(self) -> list[Diagnostic]` is the op layer of the verifier; a method
    `effects_(self)` refines the effects that derive from the operands.
    """

    def register(cls: type[T]) -> type[T]:
        made = dataclass(frozen=True, slots=True, kw_only=True)(cls)
        own = tuple(f for f in dataclasses.fields(made) if f.name != "span")  # type: ignore[arg-type]  # just made a dataclass
        bare = [f.name for f in own if "kind" not in f.metadata]
        if bare or not cls.__doc__ or name in OPS:
            raise InternalError("E9001", f"op {name}: undeclared fields {bare}, no doc, or twice")
        entry = OpDef(
            name=name,
            cls=made,  # type: ignore[arg-type]  # every op derives from Stmt
            syntax=syntax,
            since=since,
            stages=stages,
            fields=own,
            kinds={
                kind: tuple(f for f in own if f.metadata["kind"] == kind)
                for kind in {f.metadata["kind"] for f in own}
            },
            verify=getattr(made, "verify_", None),
            doc=cls.__doc__,
        )
        OPS[name] = entry
        _BY_CLASS[made] = entry  # type: ignore[index]
        return made

    return register


def opdef(stmt: Stmt | type[Stmt]) -> OpDef:
    """The declaration of a statement or statement class."""
    return _BY_CLASS[stmt if isinstance(stmt, type) else type(stmt)]


def operand_values(value: object) -> tuple[Region | Expr, ...]:
    """Flatten an operand field's value (a region, an expression, a tuple of them, None) into a
    tuple."""
    if value is None:
        return ()
    if isinstance(value, tuple):
        return tuple(v for item in value for v in operand_values(item))
    if isinstance(value, (Region, Expr)):
        return (value,)
    return ()


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The nested bodies of a statement, in declaration order."""
    fields = _BY_CLASS[type(stmt)].kinds.get("region")  # every walk asks every statement
    return tuple([getattr(stmt, f.name) for f in fields]) if fields else ()
