"""The report of a kernel: one page that needs no other file, no network and no device."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING
from urllib.parse import quote

from tile_frontend.report import figures, listing, tables
from tile_frontend.report.layouts import pictures
from tile_frontend.report.memory_map import memory_map, places
from tile_frontend.report.program import predicted, scheduled, stages, usage_of
from tile_ir.diag import TileError
from tile_ir.ops import Kernel
from tile_ir.rewrite import walk
from tile_passes.model import chrome_trace, gap, timeline_svg
from tile_passes.model.timeline import KINDS, LANE_TOP, lanes_of, window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_frontend.kernel import JITKernel
    from tile_frontend.report.program import Stage
    from tile_passes.model import KernelPrediction, Prediction

__all__ = ["page", "summary", "write", "write_text"]

Section = tuple[str, str, str, str]
"""Anchor, title, one sentence, body."""


@dataclass(frozen=True, slots=True)
class _Report:
    """What the page is made of."""

    kernel: JITKernel
    stages: tuple[Stage, ...]
    prediction: Prediction
    measured: float | None
    landscape: str
    launches: tuple[Kernel, ...] = field(default=())

    @property
    def main(self) -> KernelPrediction | None:
        """The launch that takes longest."""
        return self.prediction.longest


def write(
    kernel: JITKernel,
    path: str | Path,
    *,
    dims: Mapping[str, int] | None = None,
    contents: Mapping[str, int] | None = None,
    measured: float | None = None,
    landscape: str = "",
) -> Path:
    """Write the report of a kernel to a file and return its path; see `page`.

    Raises TileError E0803 where the file cannot be written.
    """
    text = page(kernel, dims=dims, contents=contents, measured=measured, landscape=landscape)
    return write_text(path, text)


def write_text(path: str | Path, text: str) -> Path:
    """Write a file and return its path. Raises TileError E0803 where it cannot be written."""
    target = Path(path)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TileError(
            "E0803",
            f"{target} cannot be written: {error.strerror}",
            help="name a file in a folder that exists and can be written to",
        ) from error
    return target


def page(
    kernel: JITKernel,
    *,
    dims: Mapping[str, int] | None = None,
    contents: Mapping[str, int] | None = None,
    measured: float | None = None,
    landscape: str = "",
) -> str:
    """The report as HTML.

    `dims` and `contents` as for `tile_passes.model.predict`; `measured` is a time in seconds to set
    beside the prediction; `landscape` the picture of a tuning run (`Result.landscape()`).
    """
    report = _made(kernel, dims, contents, measured, landscape)
    sections = [s for s in _sections(report) if s[3]]
    body = "".join(
        f'<section id="{anchor}"><h2>{title}</h2><p class="lead">{lead}</p>{text}</section>'
        for anchor, title, lead, text in sections
    )
    nav = "".join(f'<a href="#{anchor}">{title}</a>' for anchor, title, _, _ in sections)
    assumed = "; ".join(report.prediction.assumed)
    return _template().substitute(
        name=escape(kernel.function.name),
        target=escape(str(kernel.target)),
        style=_text("page.css"),
        nav=nav,
        verdict=_verdict(report),
        figures=_figures(report),
        sections=body,
        footer=f"Taken for granted: {escape(assumed)}." if assumed else "",
    )


def summary(kernel: JITKernel) -> str:
    """What a notebook shows: the verdict and the terms, styled for themselves."""
    report = _made(kernel, None, None, None, "")
    main = report.main
    terms = figures.terms(main) if main is not None else ""
    name, target = escape(kernel.function.name), escape(str(kernel.target))
    inner = f'<p class="target"><b>{name}</b> {target}</p><p class="verdict">{_verdict(report)}</p>'
    frame = f"<style>{_text('page.css')}body{{padding:4px 12px}}</style>{inner}{terms}"
    return (
        f'<iframe title="{name}" srcdoc="{escape(frame)}" '
        'style="width:100%;height:400px;border:0"></iframe>'
    )


def _made(
    kernel: JITKernel,
    dims: Mapping[str, int] | None,
    contents: Mapping[str, int] | None,
    measured: float | None,
    landscape: str,
) -> _Report:
    found = stages(kernel)
    prediction = predicted(kernel, found, dims, contents)
    last = scheduled(found).function
    launches = tuple(s for s in walk(last.body) if isinstance(s, Kernel))
    return _Report(kernel, found, prediction, measured, landscape, launches)


def _template() -> Template:
    return Template(_text("page.html"))


def _text(name: str) -> str:
    return (files("tile_frontend.report") / name).read_text(encoding="utf-8")


def _verdict(report: _Report) -> str:
    main = report.main
    if main is None:
        return "The function launches nothing."
    time = figures.seconds(report.prediction.seconds)
    text = f"Predicted to take {time}, bound by <b>{escape(main.bound)}</b>: {escape(main.reason)}."
    if report.measured:
        found = gap(report.prediction, report.measured, spilled=_spilled(report))
        measured = figures.seconds(report.measured)
        text += f" Measured: {measured}, {found.ratio:.2f} times the prediction"
        text += "." if found.agrees else f". Likely cause: {escape(found.cause)}."
    return text


def _spilled(report: _Report) -> int:
    return sum(getattr(u, "spill_loads", 0) or 0 for u in usage_of(report.kernel).values())


def _figures(report: _Report) -> str:
    main = report.main
    if main is None:
        return ""
    total = report.prediction.seconds
    flops = sum(k.flops for k in report.prediction.kernels)
    moved = sum(k.device_bytes for k in report.prediction.kernels)
    facts = [(figures.seconds(total), "predicted")]
    if report.measured:
        facts.append((figures.seconds(report.measured), "measured"))
    if flops:
        facts.append((figures.quantity(flops / total, "op/s"), "of products"))
    facts += [
        (figures.quantity(moved / total, "B/s"), "of device memory"),
        (f"{main.tiles:,}", f"tiles, {main.waves:.2f} waves"),
        (
            f"{main.blocks_per_core}",
            f"on a core{f', a block takes {main.limiter}' if main.limiter else ' at once'}",
        ),
    ]
    cells = (f"<div><strong>{escape(n)}</strong><span>{escape(w)}</span></div>" for n, w in facts)
    return "".join(cells)


def _sections(report: _Report) -> Iterator[Section]:
    kernels = report.prediction.kernels
    several = len(kernels) > 1
    yield (
        "time",
        "Time",
        "What each part of the machine would take alone, and what is lost. Parts work side by "
        "side: the longest one bounds the whole.",
        "".join(_titled(k.name, several, _card(figures.terms(k))) for k in kernels),
    )
    yield (
        "timeline",
        "Timeline",
        "One core from the start of a launch, predicted from the program and the machine's "
        "description.",
        _legend() + "".join(_timeline(k, several) for k in kernels) + _trace(report),
    )
    yield from _machine(report, several)
    yield from _program(report)


def _machine(report: _Report, several: bool) -> Iterator[Section]:
    kernels = report.prediction.kernels
    spec = report.kernel.target.spec
    roofs = [(k.name, figures.roofline(k, None if several else report.measured)) for k in kernels]
    roof = "".join(_titled(n, several, _card(r)) for n, r in roofs if r)
    yield "roofline", "Roofline", "How far the launch is below what the machine allows.", roof
    maps = [(k.name, memory_map(places(k), spec.capacity("shared"))) for k in report.launches]
    drawn = "".join(_titled(n, several, _card(m)) for n, m in maps if m)
    lead = "Where buffers lie in a block's shared memory, and while which part of the program."
    yield "memory", "Shared memory", lead, drawn
    shown = "".join(pictures(k) for k in report.launches)
    lead = "The upper left corner of each tile. Point at a cell to see where it lies."
    yield "layouts", "Layouts", lead, f'<div class="pictures">{shown}</div>' if shown else ""
    lead = "What the device's compiler counted, and what fits a core."
    counted = tables.counters(report.prediction, usage_of(report.kernel))
    yield "counters", "Counters", lead, _card(counted)
    lead = "Every candidate that was measured, by each parameter."
    landscape = f'<div class="card scroll">{report.landscape}</div>' if report.landscape else ""
    yield "tuning", "Tuning", lead, landscape


def _program(report: _Report) -> Iterator[Section]:
    fn = report.kernel.function
    lead = "Bars: how long a line's statements keep threads and engines busy in the simulated time."
    yield "source", "Source", lead, listing.source(fn, report.prediction)
    words = "Find a decision"
    find = f'<input type="search" id="filter" placeholder="{words}" aria-label="{words}">'
    lead = "What the compiler chose and why. A row that opens has what was weighed against it."
    yield "decisions", "Decisions", lead, find + tables.decisions(report.kernel.plan)
    lead = "The program after each pass that changed it, as a difference to the one before."
    yield "passes", "Passes", lead, listing.changes(report.stages)
    code = escape(report.kernel.kernel_source)
    lines = report.kernel.kernel_source.count("\n")
    folded = (
        f"<details><summary>generated source<span class='count'>{lines} lines</span></summary>"
        f'<div class="scroll"><pre>{code}</pre></div></details>'
    )
    yield "generated", "Generated source", "What the device's compiler was given.", folded


def _titled(name: str, several: bool, body: str) -> str:
    return f"<h3>{escape(name)}</h3>{body}" if several else body


def _card(body: str) -> str:
    return f'<div class="card">{body}</div>'


def _legend() -> str:
    chips = "".join(
        f'<span><i style="background:var(--{kind})"></i>{text}</span>'
        for kind, text in KINDS.items()
    )
    return f'<div class="legend">{chips}</div>'


def _timeline(kernel: KernelPrediction, several: bool) -> str:
    if not kernel.spans:
        return '<p class="none">Nothing was simulated.</p>'
    names = "".join(f"<li>{escape(lane)}</li>" for lane in lanes_of(kernel))
    whose = f"{escape(kernel.name)}, from" if several else "From"
    views = [(f"{whose} the start", 0.0, window(kernel))]
    turn = next((t for t in kernel.tile_ends if t > views[0][2]), None)
    if turn is not None and len(kernel.tile_ends) > 1:
        long = views[0][2]
        views.append((f"{whose} one tile to the next", turn - long / 3, turn + long * 2 / 3))
    return "".join(
        f'<h3>{title}</h3><div class="card lanes"><ul style="padding-top:{LANE_TOP}px">{names}</ul>'
        f'<div class="scroll" tabindex="0" role="group" aria-label="{title}">'
        f"{timeline_svg(kernel, since=a, until=b, labels=False)}</div></div>"
        for title, a, b in views
    )


def _trace(report: _Report) -> str:
    name = quote(f"{report.kernel.function.name}.json")
    data = b64encode(chrome_trace(report.prediction).encode()).decode()
    return (
        f'<a class="button" download="{name}" href="data:application/json;base64,{data}">'
        "Download the trace for Perfetto</a>"
    )
