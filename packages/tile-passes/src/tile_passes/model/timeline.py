"""The predicted timeline of one core: as a trace for Perfetto and Chrome, and as a picture.

Lanes are the groups of threads of one block (each with what it does and what it waits for) and the
engines of the core (with what keeps them busy).
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_passes.model.machine import Span
    from tile_passes.model.prediction import KernelPrediction, Prediction

__all__ = ["chrome_trace", "lanes_of", "timeline_svg"]

_LANE, _GAP, _LEFT, _TOP = 26, 8, 132, 30
LANE_TOP, LANE_HEIGHT = _TOP, _LANE + _GAP
_LEAST_PIXELS = 0.4
"""Narrower spans are drawn this wide."""
KINDS = {
    "work": "threads work",
    "settle": "threads wait for their own products",
    "wait": "threads wait for data, a slot or others",
    "matrix": "matrix units multiply",
    "copy": "engines move data",
}
"""Class of a span in a picture -> what the legend says."""


def chrome_trace(prediction: Prediction) -> str:
    """The timeline of every kernel as Trace Event JSON, which ui.perfetto.dev and chrome://tracing
    open; times in microseconds, a process for each kernel, a thread for each lane."""
    events: list[dict[str, object]] = []
    for pid, kernel in enumerate(prediction.kernels):
        events.append(_named("process_name", pid, 0, f"{kernel.name} (predicted, one core)"))
        tids = {lane: i for i, lane in enumerate(lanes_of(kernel))}
        events += [_named("thread_name", pid, tid, lane) for lane, tid in tids.items()]
        events += [
            {
                "name": span.label,
                "cat": span.kind,
                "ph": "X",
                "ts": span.start / kernel.clock_hz * 1e6,
                "dur": (span.end - span.start) / kernel.clock_hz * 1e6,
                "pid": pid,
                "tid": tids[span.lane],
                "args": {"cycles": span.end - span.start, "at": str(span.place or "")},
            }
            for span in kernel.spans
        ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, object]:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def lanes_of(kernel: KernelPrediction) -> list[str]:
    """The lanes of a timeline: roles in the order of their first span, then engines."""
    found = list(dict.fromkeys(s.lane for s in sorted(kernel.spans, key=lambda s: s.start)))
    engines = {s.lane for s in kernel.spans if class_of(s) in ("matrix", "copy")}
    return [x for x in found if x not in engines] + [x for x in found if x in engines]


def class_of(span: Span) -> str:
    """The class of a span in a picture, one of KINDS."""
    return span.kind if span.kind in KINDS else "copy"


def timeline_svg(
    kernel: KernelPrediction,
    *,
    since: float = 0.0,
    until: float | None = None,
    width: int = 1080,
    labels: bool = True,
) -> str:
    """The cycles from `since` to `until` as a picture `width` pixels wide.

    Its colours are the CSS variables --work, --settle, --wait, --matrix and --copy, with defaults;
    every span says what it is when pointed at. Without `labels` lanes have no names: whoever shows
    it has them beside it, each LANE_HEIGHT pixels high from LANE_TOP on.
    """
    lanes = lanes_of(kernel)
    end = until or window(kernel)
    left = _LEFT if labels else 6
    scale = (width - left - 18) / max(end - since, 1.0)
    height = _TOP + len(lanes) * (_LANE + _GAP) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" class="timeline" role="img" font-family="system-ui,sans-serif" '
        f'font-size="12"><title>Predicted timeline of {escape(kernel.name)}</title>',
        _STYLE,
        *_axis((since, end), scale, height, left),
    ]
    if labels:
        parts.append('<text x="0" y="14" class="tick">cycles</text>')
    for i, lane in enumerate(lanes):
        y = _TOP + i * (_LANE + _GAP)
        if labels:
            parts.append(f'<text x="0" y="{y + 17}">{escape(lane)}</text>')
        wide = (end - since) * scale
        parts.append(
            f'<rect x="{left}" y="{y}" width="{wide:.1f}" height="{_LANE}" rx="3" class="bed"/>'
        )
        mine = [s for s in kernel.spans if s.lane == lane and since < s.end and s.start < end]
        parts += [_span(s, (left, y), scale, (since, end)) for s in mine]
    return "\n".join((*parts, "</svg>"))


_STYLE = (
    "<style>.timeline .work{fill:var(--work,#2f6f9f)}.timeline .wait{fill:var(--wait,#d8d2c4)}"
    ".timeline .settle{fill:var(--settle,#e9b79f)}.timeline .matrix{fill:var(--matrix,#b5532c)}"
    ".timeline .copy{fill:var(--copy,#5b8c5a)}.timeline .bed{fill:var(--bed,#f3f1ec)}"
    ".timeline text{fill:var(--ink,#22252a)}"
    ".timeline .tick{fill:var(--muted,#6b7078);font-size:11px}"
    ".timeline .grid{stroke:var(--line,#dedbd3)}</style>"
)


def window(kernel: KernelPrediction) -> float:
    """The cycles worth drawing: until the pipeline has turned over several times."""
    end = max((s.end for s in kernel.spans), default=1.0)
    products = sorted(s.end for s in kernel.spans if s.kind == "matrix")
    enough = 24
    return min(end, products[enough] * 1.02) if len(products) > enough else min(end, 24_000.0)


def _span(span: Span, at: tuple[int, int], scale: float, shown: tuple[float, float]) -> str:
    left, y = at
    start = max(span.start, shown[0])
    x = left + (start - shown[0]) * scale
    wide = max(_LEAST_PIXELS, (min(span.end, shown[1]) - start) * scale)
    cycles = span.end - span.start
    place = f" ({span.place})" if span.place is not None else ""
    title = escape(f"{span.label}: {cycles:.0f} cycles{place}")
    return (
        f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{_LANE}" '
        f'class="{class_of(span)}"><title>{title}</title></rect>'
    )


def _axis(shown: tuple[float, float], scale: float, height: int, left: int) -> list[str]:
    first, end = shown
    step = _round_step((end - first) / 8)
    out = []
    at = -(-first // step) * step
    while at <= end:
        x = left + (at - first) * scale
        top, bottom = _TOP - 6, height - 6
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" class="grid"/>')
        anchor = "start" if at == 0 else "middle"
        out.append(f'<text x="{x:.1f}" y="14" text-anchor="{anchor}" class="tick">{at:,.0f}</text>')
        at += step
    return out


def _round_step(raw: float) -> float:
    """The next larger of 1, 2, 5 times a power of ten."""
    size = 10.0 ** (len(str(int(max(raw, 1.0)))) - 1)
    return next(size * k for k in (1, 2, 5, 10) if size * k >= raw)


def overlap(spans: Sequence[Span], left: str, right: str) -> float:
    """Cycles in which spans of class `left` and of class `right` both run."""
    a = sorted((s.start, s.end) for s in spans if class_of(s) == left)
    b = sorted((s.start, s.end) for s in spans if class_of(s) == right)
    total, j = 0.0, 0
    for start, end in a:
        while j < len(b) and b[j][1] <= start:
            j += 1
        k = j
        while k < len(b) and b[k][0] < end:
            total += min(end, b[k][1]) - max(start, b[k][0])
            k += 1
    return total
