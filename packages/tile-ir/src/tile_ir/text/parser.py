"""Text to programs, driven by the same forms as the printer."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, cast

import tile_ir.ops  # noqa: F401 -- importing the package registers the ops
from tile_ir.core import Buffer, Function, Module, Param, Stage
from tile_ir.diag import Span, TileError
from tile_ir.expr import Expr, Var
from tile_ir.opdef import OPS, OpDef, Stmt
from tile_ir.schema import SCHEMA_VERSION, check_package, check_schema, upgraded
from tile_ir.symbols import Symbols
from tile_ir.text.buffers import parse_buffer
from tile_ir.text.cursor import ANONYMOUS, suggestion
from tile_ir.text.expr_parser import ExprParser
from tile_ir.text.forms import Field, Form, Group, Part, Words, form_of
from tile_ir.text.lexer import END, IDENT, Source, Tokens
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.opdef import Body

__all__ = ["Parser", "parse_expr", "parse_function", "parse_module"]

_HEADER = re.compile(
    r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*tile\.ir[ \t]+"
    r"(?:(?P<major>\d+)\.(?P<minor>\d+)[ \t]+tile"
    r"|(?P<stage>scheduled|simt)[ \t]+\(tile-ir[ \t]+(?P<version>[^)\n]+)\))"
    r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)"
)


class Parser(ExprParser):
    """Parses statements and functions. `pending` holds names bound by the statement being read."""

    def __init__(
        self, tokens: Tokens, symbols: Symbols, stage: Stage, version: tuple[int, int]
    ) -> None:
        super().__init__(tokens, symbols)
        self.stage = stage
        self.version = version
        self.pending: list[Var | Buffer] = []

    def bound_var(self) -> Var:
        """`name` or `name: type`; in scope from the statement's body on, or after it."""
        name = self.take(IDENT)
        var = Var(name, self.type_name() if self.accept(":") else i32)
        self.pending.append(var)
        return var

    def body(self) -> Body:
        """`{ statement ... }`, with the names of the statement it belongs to in scope."""
        self.take("{")
        mark = self.symbols.mark()
        outer, self.pending = self.pending, []
        for symbol in outer:
            self.symbols.declare(symbol)
        out: list[Stmt] = []
        while self.kinds[self.at] != "}":
            out.append(self.stmt())
            self._end_stmt()
        self.at += 1
        self.symbols.reset(mark)
        self.pending = outer
        return tuple(out)

    def _end_stmt(self) -> None:
        at = self.at
        if self.kinds[at] == ";":
            self.at += 1
        elif self.kinds[at] != "}" and not self.tokens.fresh[at]:
            fix = "start the next statement on a line of its own, or put `;` between the two"
            raise self.expected("the end of the statement", fix)

    def stmt(self) -> Stmt:
        """One statement."""
        first = self.at
        op = self._op()
        form = form_of(op)
        values: dict[str, Any] = {}
        for part in form.head:
            self._part(part, values)
        if form.attributes:
            self._attributes(op, self._known(form), values, first)
        span = self._location()
        last = self.at - 1
        for part in form.rest:
            self._part(part, values)
        if not form.rest:
            for symbol in self.pending:
                self.symbols.declare(symbol)
        self.pending.clear()
        if self.version != SCHEMA_VERSION and (form.changed or op.upgrades):
            values = upgraded(op, values, self.version)
        return op.cls(span=span or self.span(first, last), **values)

    def _op(self) -> OpDef:
        name = self.texts[self.at]
        op = OPS.get(name)
        if op is None or self.kinds[self.at] != IDENT:
            if self.kinds[self.at] != IDENT:
                fix = "" if name else "close every body that is open with `}`"
                raise self.expected("a statement", fix, new_line=True)
            fix = "start it with the name of an op; import the distribution that defines this one"
            raise self.error("E0005", f"there is no statement {name}", suggestion(name, OPS, fix))
        if op.since > self.version:
            raise self._newer(name, op.since)
        return op

    def _newer(self, what: str, since: tuple[int, int], at: int | None = None) -> TileError:
        version = f"{since[0]}.{since[1]}"
        message = f"{what} exists since version {version}, the text is older"
        return self.error("E0017", message, f"raise the version line to {version}", at)

    def _known(self, form: Form) -> dict[str, Field]:
        """The attributes under the names that they have in a text of this version."""
        if not form.changed or self.version == SCHEMA_VERSION:
            return form.attributes
        names = {}
        for field in form.attributes.values():
            was = field.changes.was
            old = was is not None and self.version < was[0]
            names[was[1] if old and was is not None else field.name] = field
        return names

    def _part(self, part: Part, values: dict[str, Any]) -> None:
        if type(part) is Words:
            kinds, texts, at = self.kinds, self.texts, self.at
            for kind, text in part.tokens:
                if texts[at] != text or kinds[at] != kind:
                    self.at = at
                    raise self.expected(f"`{text}`")
                at += 1
            self.at = at
        elif type(part) is Field:
            values[part.name] = self._value(part)
        else:
            assert isinstance(part, Group)
            word = part.parts[0]
            assert isinstance(word, Words)
            if self.texts[self.at] == word.tokens[0][1]:
                for inner in part.parts:
                    self._part(inner, values)

    def _value(self, field: Field) -> Any:
        value = field.text.read(self)
        if type(value) is Buffer and field.binds:
            self.pending.append(value)
        return value

    def _attributes(
        self, op: OpDef, fields: dict[str, Field], values: dict[str, Any], first: int
    ) -> None:
        more = self._is_attribute(fields)
        while more and not self._is_location():
            at = self.at
            name = self.texts[at]
            if name not in fields:
                self.take(IDENT)
            self.at = at + 1
            field = fields.get(name)
            if field is None or field.name in values:
                problem = "twice" if field is not None else "unknown"
                raise self._bad_attribute(op, name, problem, fields, at)
            if field.changes.since > self.version:
                raise self._newer(f"{name} of {op.name}", field.changes.since, at)
            values[field.name] = self._attribute(field)
            more = self.accept(",")
        missing = [n for n, f in fields.items() if _required(f) and f.name not in values]
        if missing:
            fix = f"add {', '.join(f'{n} = ...' for n in missing)} to the statement"
            raise self.error("E0014", f"{op.name} needs {' and '.join(missing)}", fix, first)

    def _is_attribute(self, fields: dict[str, Field]) -> bool:
        """Whether the next token may start the attribute list (`nan` is a word only there)."""
        at = self.at
        named = self.kinds[at] == IDENT or self.texts[at] in fields
        return named and not self.tokens.fresh[at]

    def _bad_attribute(
        self, op: OpDef, name: str, problem: str, fields: dict[str, Field], at: int
    ) -> TileError:
        if problem == "twice":
            return self.error("E0012", f"{name} is given twice", "keep the one that is meant", at)
        fix = suggestion(name, fields, f"{op.name} takes {', '.join(fields)}")
        return self.error("E0012", f"{op.name} has no attribute {name}", fix, at)

    def _attribute(self, field: Field) -> Any:
        if not self.accept("="):
            return True
        if not field.text.listed:
            return self._value(field)
        self.take("(")
        value = self._value(field)
        self.take(")")
        return value

    def _is_location(self) -> bool:
        return self.texts[self.at] == "loc" and self.kinds[self.at + 1] == "("

    def _location(self) -> Span | None:
        if not self._is_location() or self.tokens.fresh[self.at]:
            return None
        self.at += 1
        self.take("(")
        span = self._span_text()
        self.take(")")
        return span

    def _span_text(self) -> Span:
        """`"file":line:column[-column | -line:column] [from span]`; columns count from 1."""
        file = self.string()
        self.take(":")
        line = self.integer()
        self.take(":")
        col = self.integer() - 1
        end_line, end_col = None, None
        if self.accept("-"):
            end_line, end_col = line, self.integer()
            if self.accept(":"):
                end_line, end_col = end_col, self.integer()
        parent = self._span_text() if self.accept_word("from") else None
        return Span(file, line, col, end_line, end_col, parent)

    def function(self) -> Function:
        """`func @name(params) clauses { body }`."""
        first = self.at
        if self.texts[first] != "func":
            raise self.expected("`func`", "begin with `func @name(...) {`", new_line=True)
        self.at = first + 1
        self.take("@")
        name = self.name("the name of the function")
        params_at = self.at
        self._skip_parentheses()
        mark = self.symbols.mark()
        clauses = self._clauses()
        body_at = self.at
        self.at = params_at
        params = self.enclosed(self._param)
        if self.at != body_at and self.kinds[self.at] not in (IDENT, "{"):
            raise self.expected("`{`")
        self.at = body_at
        span = self.span(first, params_at - 1)
        body = self.body()
        self.symbols.reset(mark)
        return Function(
            name=name,
            params=params,
            body=body,
            dims=clauses.get("dims", ()),
            results=clauses.get("results", ()),
            numerics=clauses.get("numerics", "default"),
            stage=clauses.get("stage", self.stage),
            span=clauses.get("loc") or span,
        )

    def _skip_parentheses(self) -> None:
        """Go past the parameters: they mention dimensions, which are declared after them."""
        self.take("(")
        depth = 1
        while depth:
            kind = self.kinds[self.at]
            if kind == END:
                raise self.expected("`)`")
            depth += (kind == "(") - (kind == ")")
            self.at += 1

    def _clauses(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.kinds[self.at] == IDENT:
            name = self.texts[self.at]
            if name == "loc":
                self.at += 1
                self.take("(")
                found[name] = self._span_text()
                self.take(")")
                continue
            read = _CLAUSES.get(name)
            if read is None or name in found:
                fix = "write each clause once, then the body in braces"
                raise self.expected("dims, results, numerics, stage or `{`", fix)
            self.at += 1
            found[name] = read(self)
        return found

    def dims(self) -> tuple[Var, ...]:
        """`(M, N: i64)`; the names come into scope."""
        out = self.enclosed(self.bound_var)
        for symbol in self.pending:
            self.symbols.declare(symbol)
        self.pending.clear()
        return out

    def stage_name(self) -> Stage:
        """The name of a stage."""
        at = self.at
        text = self.take(IDENT)
        found = next((s for s in Stage if s.value == text), None)
        if found is None:
            stages = ", ".join(s.value for s in Stage)
            message = f"expected a stage, found `{text}`"
            raise self.error("E0004", message, f"write one of {stages}", at)
        return found

    def _param(self) -> Param:
        typed = self.kinds[self.at + 1] == ":" and self.kinds[self.at + 3] == IDENT
        if typed:
            buffer = parse_buffer(self)
            self.symbols.declare(buffer)
            return Param(buffer=buffer)
        name = self.take(IDENT)
        self.take(":")
        scalar = Var(name, self.type_name())
        self.symbols.declare(scalar)
        return Param(scalar=scalar)


_CLAUSES: dict[str, Callable[[Parser], Any]] = {
    "dims": Parser.dims,
    "results": lambda q: q.enclosed(lambda: q.name("the name of a parameter")),
    "numerics": lambda q: q.name("the name of a numerics contract"),
    "stage": Parser.stage_name,
}


def _required(field: Field) -> bool:
    return field.default is dataclasses.MISSING


def _parser(text: str, file: str | None, symbols: Symbols | None = None) -> tuple[Parser, bool]:
    """A parser after the version line, and whether there was one."""
    source = Source(text, file or ANONYMOUS)
    match = _HEADER.match(text)
    stage, version = Stage.TILE, SCHEMA_VERSION
    if match is not None:
        span = source.span(match.start(), match.end())
        try:
            if match["stage"]:
                stage = Stage(match["stage"])
                check_package(stage, match["version"].strip())
            else:
                version = (int(match["major"]), int(match["minor"]))
                check_schema(version)
        except TileError as error:
            raise error.at(span) from None
    tokens = Tokens(source, match.end() if match else 0)
    return Parser(tokens, symbols or Symbols(), stage, version), match is not None


def _guarded(q: Parser, read: Callable[[], Any]) -> Any:
    """Run `read` to the end of the text."""
    try:
        value = read()
    except RecursionError:
        fix = "bind parts of it to names with `let` statements before"
        raise q.error("E0015", "this is nested too deeply", fix) from None
    if q.kinds[q.at] != END:
        fix = "remove what follows, or parse it as a text of its own"
        raise q.expected("the end of the text", fix, new_line=True)
    return value


def parse_module(text: str, file: str | None = None) -> Module:
    """The module that `text` denotes. `file` names it in spans.

    Raises:
        TileError: E0001 to E0019, with the place and what was expected there.
    """
    q, has_header = _parser(text, file)
    if not has_header:
        raise q.error(
            "E0001",
            "the text does not start with a version line",
            f"start it with `tile.ir {SCHEMA_VERSION[0]}.{SCHEMA_VERSION[1]} tile`",
            0,
        )

    def read() -> Module:
        functions = []
        while q.kinds[q.at] != END:
            functions.append(q.function())
        return Module(functions=tuple(functions))

    return cast("Module", _guarded(q, read))


def parse_function(text: str, file: str | None = None) -> Function:
    """The one function that `text` denotes; the version line may be left out (stage `tile`).

    Raises:
        TileError: E0001 to E0019, with the place and what was expected there.
    """
    q, _ = _parser(text, file)
    return cast("Function", _guarded(q, q.function))


def parse_expr(text: str, symbols: Symbols, file: str | None = None) -> Expr:
    """The expression that `text` denotes over the names in `symbols`.

    Raises:
        TileError: E0003 to E0019, with the place and what was expected there.
    """
    q = Parser(Tokens(Source(text, file or ANONYMOUS)), symbols, Stage.TILE, SCHEMA_VERSION)
    return cast("Expr", _guarded(q, q.expr))
