"""The user's source beside what the model says of each line, and the program after each pass as a
difference to the one before."""

from __future__ import annotations

import difflib
import linecache
from collections import Counter, defaultdict
from html import escape
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from tile_ir.rewrite import walk
from tile_ir.text import print_function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_frontend.report.program import Stage
    from tile_ir.core import Function
    from tile_passes.model import Prediction

__all__ = ["changes", "source"]

AROUND = 2
"""Lines shown before the first and after the last line of the program."""
CONTEXT = 2
"""Unchanged lines around a change."""
MOST_LINES = 400
"""Lines of one difference; beyond it the rest is left out and counted."""


def source(fn: Function, prediction: Prediction) -> str:
    """The lines that the program was written in. A bar is the part of the simulated time in which
    the line's statements keep threads or engines busy."""
    lines: defaultdict[str, set[int]] = defaultdict(set)
    for stmt in walk(fn.body):
        if stmt.span is not None:
            lines[stmt.span.file].add(stmt.span.line)
    busy: Counter[tuple[str, int]] = Counter()
    for kernel in prediction.kernels:
        for s in kernel.spans:
            if s.place is not None and s.kind not in ("wait", "settle"):
                busy[s.place.file, s.place.line] += int(s.end - s.start)
    most = max(busy.values(), default=1) or 1
    parts = [_file(name, numbers, busy, most) for name, numbers in lines.items()]
    return "".join(parts) or '<p class="none">The program has no places in a source file.</p>'


def _file(name: str, numbers: set[int], busy: Counter[tuple[str, int]], most: int) -> str:
    text = linecache.getlines(name)
    if not text:
        return ""
    first, last = max(1, min(numbers) - AROUND), min(len(text), max(numbers) + AROUND)
    code = dedent("".join(text[first - 1 : last])).splitlines()
    rows = []
    for number, line in enumerate(code, first):
        part = busy[name, number] / most
        kind = ' class="own"' if number in numbers else ""
        title = f"{busy[name, number]:,} cycles"
        bar = f'<i style="width:{part:.1%}" title="{title}"></i>' if part else ""
        cells = f"<td>{bar}</td><td><code>{escape(line) or ' '}</code></td>"
        rows.append(f"<tr{kind}><th>{number}</th>{cells}</tr>")
    head = f'<p class="file">{escape(Path(name).name)}</p>'
    return f'{head}<div class="scroll"><table class="source">{"".join(rows)}</table></div>'


def changes(found: Sequence[Stage]) -> str:
    """The program as written, then what each pass changed of it, then the whole last one."""
    texts = [print_function(s.state.function).splitlines() for s in found]
    parts = [_folded("as written", f"{len(texts[0])} lines", _plain(texts[0]))]
    for stage, before, after in zip(found[1:], texts, texts[1:], strict=False):
        if before == after:
            continue
        diff = list(difflib.unified_diff(before, after, lineterm="", n=CONTEXT))[2:]
        more = sum(line.startswith("+") for line in diff)
        less = sum(line.startswith("-") for line in diff)
        head = f'<b class="plus">+{more}</b> <b class="minus">−{less}</b>'
        parts.append(_folded(stage.name, head, _coloured(diff), stage.phase))
    parts.append(_folded("the last program", f"{len(texts[-1])} lines", _plain(texts[-1])))
    return "".join(parts)


def _folded(name: str, head: str, body: str, phase: str = "") -> str:
    mark = f'<span class="phase">{escape(phase)}</span>' if phase else ""
    return (
        f"<details><summary>{escape(name)}{mark}<span class='count'>{head}</span></summary>"
        f'<div class="scroll"><pre>{body}</pre></div></details>'
    )


def _plain(lines: Sequence[str]) -> str:
    return "\n".join(map(escape, lines))


def _coloured(diff: Sequence[str]) -> str:
    kinds = {"+": "ins", "-": "del", "@": "at"}
    out = []
    for line in diff[:MOST_LINES]:
        kind = kinds.get(line[:1], "")
        text = escape(line)
        out.append(f'<span class="{kind}">{text}</span>' if kind else text)
    if len(diff) > MOST_LINES:
        out.append(f'<span class="at">… {len(diff) - MOST_LINES} more lines</span>')
    return "\n".join(out)
