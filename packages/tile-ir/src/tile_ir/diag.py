"""Spans, diagnostics and the two error classes.

A `TileError` is the user's to mend and says where, why and how; an `InternalError` is ours and asks
for a report. Both carry `Diagnostic` values, so that a verifier can report every violation at once.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Severity(Enum):
    """How much a diagnostic matters."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text. Lines are 1-based, columns 0-based (as in Python's `ast`); `end_col`
    is exclusive.

    `parent` is the span of the call that brought us here (a macro's call site), innermost first.
    """

    file: str
    line: int
    col: int = 0
    end_line: int | None = None
    end_col: int | None = None
    parent: Span | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col + 1}"

    def text(self) -> str | None:
        """Return the source line, or None when the file cannot be read."""
        line = linecache.getline(self.file, self.line)
        return line.rstrip("\n") if line else None


@dataclass(frozen=True, slots=True)
class Fix:
    """A mend that takes no thought: in the source of the place, `old` becomes `new`."""

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A fix as an edit of one line of a file: columns `col` to `end_col` (0-based, the end not
    included) become `new`; `before` and `after` are the whole line."""

    file: str
    line: int
    col: int
    end_col: int
    new: str
    before: str
    after: str

    def render(self) -> list[str]:
        """The two lines as in a unified diff, without their margin."""
        return [f" - {self.before}", f" + {self.after}"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: a catalogue code, a message, where, why (`notes`), what to do (`help`), and the
    mend where it is mechanical (`fix`)."""

    code: str
    message: str
    severity: Severity = Severity.ERROR
    span: Span | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    fix: Fix | None = None

    @property
    def edit(self) -> Edit | None:
        """The fix in the file; None without one, or where the source is not what it was."""
        span, fix = self.span, self.fix
        text = None if span is None or fix is None else span.text()
        if span is None or fix is None or text is None:
            return None
        word = re.escape(fix.old)
        found = re.compile(rf"(?<!\w){word}(?!\w)").search(text, span.col)
        if found is None:
            return None
        col, end = found.span()
        after = text[:col] + fix.new + text[end:]
        return Edit(
            file=span.file,
            line=span.line,
            col=col,
            end_col=end,
            new=fix.new,
            before=text,
            after=after,
        )

    def reasons(self) -> tuple[str, ...]:
        """Why it is so: the notes, or for a mistake in a program the rule that its code stands
        for, where neither message nor help says it."""
        if self.notes or self.span is None or self.severity is not Severity.ERROR:
            return self.notes
        from tile_ir.codes import rule  # only an error that is shown needs the catalogue

        found = rule(self.code)
        said = f"{self.message} {self.help}".casefold()
        return (found,) if found and found.casefold() not in said else ()

    def render(self) -> str:
        """Return it as text: headline, source line with carets, call sites, notes, help, and the
        line as it becomes by the fix."""
        out = [f"{self.severity.value}[{self.code}]: {self.message}"]
        span = self.span
        while span is not None:
            out += _excerpt(span, self.span is span)
            span = span.parent
        out += [f"  = note: {note}" for note in self.reasons()]
        if self.help:
            out.append(f"  = help: {self.help}")
        edit = self.edit
        if edit is not None:
            out += [f" {edit.line}{line}" for line in edit.render()]
        return "\n".join(out)


def _excerpt(span: Span, primary: bool) -> list[str]:
    head = "-->" if primary else "called from"
    out = [f"  {head} {span}"]
    text = span.text()
    if text is None:
        return out
    margin = str(span.line)
    pad = " " * len(margin)
    same_line = span.end_line in (None, span.line)
    end = span.end_col if same_line and span.end_col is not None else len(text)
    mark = "^" if primary else "-"
    carets = mark * max(1, min(end, len(text)) - span.col)
    return [*out, f" {pad} |", f" {margin} | {text}", f" {pad} | {' ' * span.col}{carets}"]


class _Report(Exception):
    """Carries diagnostics; the text of the exception is their rendering."""

    def __init__(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        notes: Sequence[str] = (),
        help: str | None = None,
        others: Sequence[Diagnostic] = (),
        fix: Fix | None = None,
    ) -> None:
        first = Diagnostic(code, message, Severity.ERROR, span, tuple(notes), help, fix)
        self.diagnostics: tuple[Diagnostic, ...] = (first, *others)
        super().__init__(code, message)

    @property
    def code(self) -> str:
        """The catalogue code of the first diagnostic."""
        return self.diagnostics[0].code

    @property
    def span(self) -> Span | None:
        """The place of the first diagnostic."""
        return self.diagnostics[0].span

    @property
    def message(self) -> str:
        """The headline of the first diagnostic, without code or place."""
        return self.diagnostics[0].message

    @property
    def help(self) -> str | None:
        """What the user can do about it."""
        return self.diagnostics[0].help

    @property
    def notes(self) -> tuple[str, ...]:
        """Why it is so."""
        return self.diagnostics[0].notes

    @property
    def fix(self) -> Fix | None:
        """The mend, where it is mechanical."""
        return self.diagnostics[0].fix

    def __str__(self) -> str:
        return "\n".join(d.render() for d in self.diagnostics)

    def __reduce__(self) -> tuple[object, ...]:
        first = self.diagnostics[0]
        args = (first.code, first.message, first.span, first.notes, first.help)
        return (type(self), (*args, self.diagnostics[1:], first.fix))


class TileError(_Report):
    """A mistake in a kernel, an argument or the environment: the user's to mend."""

    def at(self, span: Span | None) -> TileError:
        """Return the same error placed at `span` when it has no place of its own yet."""
        if span is None or self.span is not None:
            return self
        return self._with(replace(self.diagnostics[0], span=span))

    def mended(self, fix: Fix | None) -> TileError:
        """Return the same error with a fix, when it has none yet."""
        if fix is None or self.fix is not None:
            return self
        return self._with(replace(self.diagnostics[0], fix=fix))

    def _with(self, first: Diagnostic) -> TileError:
        cls = type(self)
        made = cls.__new__(cls)
        made.__dict__.update(self.__dict__)
        made.args = self.args
        made.diagnostics = (first, *self.diagnostics[1:])
        return made.with_traceback(self.__traceback__)


class InternalError(_Report):
    """A broken promise of the compiler itself. `reproducer` is IR text plus the pipeline text that
    shows it."""

    reproducer: str | None = None

    def __str__(self) -> str:
        text = _Report.__str__(self)
        text += "\n  = note: this is a defect of the compiler, not of the kernel; please report it"
        if self.reproducer:
            text += f"\n  = note: reproducer written to {self.reproducer}"
        return text
