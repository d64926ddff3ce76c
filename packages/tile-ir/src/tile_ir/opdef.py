"""The one declaration of an op: printer, parser, verifier, visitors, effects and docs derive from
it.

An op is a frozen dataclass under `@op("name", syntax=..., ...)`. Its fields say what they are:

    src: Region = operand(READ)          # memory touched, with the effect on it
    value: Expr = operand(READ)          # an expression; the loads in it are reads
    dim: int = attr(-1)                  # a static property, printed when not the default
    body: Body = region()                # nested statements

What comes later says since which version of the IR, and what older texts say instead, so that every
text of the major version keeps its meaning:

    cached: bool = attr(False, since=(1, 1))          # texts of 1.1 and later may say it
    axis: int = attr(0, was=((1, 2), "dim"))          # called `dim` by texts before 1.2
    width: int = attr(4, before=((1, 3), 1))          # left out by a text before 1.3 it means 1

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
    def operand(access: Access, default: Any = ..., **changed: Any) -> Any: ...
    def attr(default: Any = ..., **changed: Any) -> Any: ...
    def binds(default: Any = ..., **changed: Any) -> Any: ...
    def region(default: Any = ...) -> Any: ...
else:

    def _declare(kind: str, default: Any = dataclasses.MISSING, **meta: Any) -> Any:
        return field(default=default, metadata={"kind": kind, **meta})

    def operand(access: Access, default: Any = dataclasses.MISSING, **changed: Any) -> Any:
        """Declare a field that names memory (`Region`) or computes values (`Expr`)."""
        return _declare("operand", default, access=access, **changed)

    def attr(default: Any = dataclasses.MISSING, **changed: Any) -> Any:
        """Declare a static property."""
        return _declare("attr", default, **changed)

    def binds(default: Any = dataclasses.MISSING, **changed: Any) -> Any:
        """Declare a field (`Var`, tuple of `Var`, `Buffer`, name of a token) that the op brings
        into scope."""
        return _declare("binds", default, **changed)

    def region(default: Any = dataclasses.MISSING) -> Any:
        """Declare a field of nested statements (`Body`)."""
        return _declare("region", default)


Version = tuple[int, int]
"""Major and minor of the IR."""

FIRST: Version = (1, 0)
"""The version that has everything that does not say otherwise."""

Upgrade = tuple[Version, "Callable[[dict[str, Any]], dict[str, Any]]"]
"""What a text before a version has as fields -> what it means as fields since then."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a field was in older versions: `since` is the first that has it; `was` names a version
    and the name before it; `before` a version and the value that it had, left out, before it."""

    since: Version = FIRST
    was: tuple[Version, str] | None = None
    before: tuple[Version, Any] | None = None

    @property
    def written(self) -> Version:
        """The first version whose texts say the field as it is printed today."""
        return self.since if self.was is None else max(self.since, self.was[0])


def changes(f: dataclasses.Field[Any]) -> Changes:
    """What a declared field was in older versions."""
    return Changes(**{n: f.metadata[n] for n in ("since", "was", "before") if n in f.metadata})


@dataclass(frozen=True, slots=True, kw_only=True)
class OpDef:
    """What the registry knows of an op."""

    name: str
    cls: type[Stmt]
    syntax: str
    since: Version
    upgrades: tuple[Upgrade, ...]
    stages: frozenset[Stage]
    fields: tuple[dataclasses.Field[Any], ...]
    kinds: Mapping[str, tuple[dataclasses.Field[Any], ...]]
    verify: Callable[[Any], list[Diagnostic]] | None
    doc: str

    def of_kind(self, kind: str) -> tuple[dataclasses.Field[Any], ...]:
        """The fields declared as `kind`: operand, attr, binds or region."""
        return self.kinds.get(kind, ())

    @property
    def read_from(self) -> Version:
        """The first version whose texts mean by this op what it means today, when they leave out
        what may be left out."""
        moved = [c.before[0] for c in map(changes, self.fields) if c.before is not None]
        return max([self.since, *moved, *(version for version, _ in self.upgrades)])


OPS: dict[str, OpDef] = {}
_BY_CLASS: dict[type[Stmt], OpDef] = {}
ALL_STAGES = frozenset(Stage)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def op(
    name: str,
    *,
    syntax: str,
    since: Version = FIRST,
    upgrades: tuple[Upgrade, ...] = (),
    stages: frozenset[Stage] = ALL_STAGES,
) -> Callable[[type[T]], type[T]]:
    """Register the decorated class (its own fields declared, docstring present) as op `name`.

    `upgrades` are for what `was` and `before` of a field cannot say: each takes the fields that an
    older text gave and returns those that mean the same since its version; they apply in order.

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
            upgrades=tuple(sorted(upgrades, key=lambda u: u[0])),
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
