"""Programs as canonical text: one statement per line, two spaces deep, defaults left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.core import Buffer, Function, Module, Range, Region, Stage
from tile_ir.expr import Const
from tile_ir.opdef import FIRST, opdef
from tile_ir.schema import header, words_version
from tile_ir.text.buffers import print_buffer
from tile_ir.text.expr_printer import ExprPrinter, print_slot
from tile_ir.text.fields import print_var
from tile_ir.text.forms import Field, Form, Group, Part, Words, form_of
from tile_ir.text.literals import quote, word
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Param
    from tile_ir.diag import Span
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt

_ORDER = (Stage.TILE, Stage.SCHEDULED, Stage.SIMT)


class Printer:
    """Prints statements; knows the buffers declared so far, for `:` in regions."""

    def __init__(self, buffers: Iterable[Buffer] = (), spans: bool = False) -> None:
        self.expr: ExprPrinter = ExprPrinter()
        self.spans = spans
        self.indent = "\n"
        self.needed = FIRST
        """The first version whose readers understand what was printed so far."""
        self._shapes: dict[str, tuple[Expr, ...]] = {b.name: b.shape for b in buffers}

    def region(self, region: Region) -> str:
        """`buffer[range, ...]`; an axis taken whole prints as `:`."""
        shape = self._shapes.get(region.buffer, ())
        texts = [
            ":" if i < len(shape) and _is_whole(r, shape[i]) else self._range(r)
            for i, r in enumerate(region.ranges)
        ]
        return f"{region.buffer}{print_slot(region.slot)}[{', '.join(texts)}]"

    def _range(self, r: Range) -> str:
        start = self.expr(r.start)
        extent = r.extent
        if type(extent) is Const and extent.value == 1 and extent.dtype is i32:
            return start
        return f"{start} : +{self.expr(extent)}"

    def body(self, body: Body) -> str:
        """`{ }`, or one statement per line between braces."""
        if not body:
            return "{ }"
        outer = self.indent
        self.indent = outer + "  "
        lines = [self.indent + self.stmt(s) for s in body]
        self.indent = outer
        return "{" + "".join(lines) + outer + "}"

    def stmt(self, stmt: Stmt) -> str:
        """The statement, its nested bodies included."""
        form = form_of(opdef(stmt))
        if form.read_from > FIRST or form.changed:
            self._note(form, stmt)
        binds = [p for p in form.head if isinstance(p, Field) and p.binds]
        for part in binds:
            value = getattr(stmt, part.name)
            if isinstance(value, Buffer):
                self._shapes[value.name] = value.shape
        out = [self._part(p, stmt) for p in form.head]
        attributes = self._attributes(form, stmt)
        location = self.location(stmt.span)
        text = "".join(out)
        tail = "".join([self._part(p, stmt) for p in form.rest])
        pieces = [p for p in (text.rstrip(), attributes, location, tail) if p]
        return " ".join(pieces)

    def _note(self, form: Form, stmt: Stmt) -> None:
        said = [f for f in form.changed if getattr(stmt, f.name) != f.default]
        self.needed = max(self.needed, form.read_from, *(f.changes.written for f in said))

    def _part(self, part: Part, stmt: Stmt) -> str:
        if type(part) is Words:
            return part.text
        if type(part) is Field:
            return part.text.show(getattr(stmt, part.name), self)
        assert isinstance(part, Group)
        if getattr(stmt, part.field.name) == part.field.default:
            return ""
        return "".join([self._part(p, stmt) for p in part.parts])

    def _attributes(self, form: Form, stmt: Stmt) -> str:
        out = []
        for name, field in form.attributes.items():
            value = getattr(stmt, name)
            if value is field.default or value == field.default:
                continue
            out.append(name if value is True else self._attribute(field, value))
        return ", ".join(out)

    def _attribute(self, field: Field, value: Any) -> str:
        text = field.text.show(value, self)
        return f"{field.name} = ({text})" if field.text.listed else f"{field.name} = {text}"

    def location(self, span: Span | None) -> str:
        """`loc(...)` when spans are asked for and there is one."""
        return f"loc({_print_span(span)})" if self.spans and span is not None else ""

    def function(self, fn: Function, implied: Stage) -> str:
        """The whole function; its stage is named when it is not `implied`."""
        params = ", ".join([self._param(p) for p in fn.params])
        clauses = [
            f"func @{word(fn.name)}({params})",
            f"dims ({', '.join(map(print_var, fn.dims))})" if fn.dims else "",
            f"results ({', '.join(map(word, fn.results))})" if fn.results else "",
            f"numerics {word(fn.numerics)}" if fn.numerics != "default" else "",
            f"stage {fn.stage.value}" if fn.stage is not implied else "",
            self.location(fn.span),
            self.body(fn.body),
        ]
        return " ".join([c for c in clauses if c])

    def _param(self, p: Param) -> str:
        if p.buffer is not None:
            self._shapes[p.buffer.name] = p.buffer.shape
            return print_buffer(p.buffer, self.expr)
        assert p.scalar is not None
        return f"{p.scalar.name}: {p.scalar.dtype}"


def _is_whole(r: Range, size: Expr) -> bool:
    start = r.start
    return r.extent is size and type(start) is Const and start.value == 0 and start.dtype is i32


def _print_span(span: Span) -> str:
    text = f"{quote(span.file)}:{span.line}:{span.col + 1}"
    if span.end_col is not None:
        other_line = span.end_line not in (None, span.line)
        text += f"-{span.end_line}:{span.end_col}" if other_line else f"-{span.end_col}"
    return text if span.parent is None else f"{text} from {_print_span(span.parent)}"


def print_expr(e: Expr) -> str:
    """The text of an expression."""
    return ExprPrinter()(e)


def print_stmt(stmt: Stmt, buffers: Iterable[Buffer] = (), spans: bool = False) -> str:
    """The text of a statement; whole axes of `buffers`, and of those it declares, print as `:`."""
    return Printer(buffers, spans).stmt(stmt)


def print_function(fn: Function, spans: bool = False) -> str:
    """The text of a function without the version line; `parse_function` reads it back."""
    return Printer(spans=spans).function(fn, Stage.TILE) + "\n"


def print_module(module: Module, spans: bool = False) -> str:
    """The canonical text of a module, version line included; `parse_module` reads it back.

    The version line names the first version whose readers understand the text. `spans` adds
    `loc(...)` with the user's place to every statement that has one.
    """
    stages = {fn.stage for fn in module.functions}
    stage = max(stages, key=_ORDER.index, default=Stage.TILE)
    printers = [Printer(spans=spans) for _ in module.functions]
    functions = [p.function(fn, stage) for p, fn in zip(printers, module.functions, strict=True)]
    needed = max(
        [p.needed for p in printers] + [words_version(text) for text in functions] + [FIRST]
    )
    return "\n\n".join([header(stage, needed), *functions]) + "\n"
