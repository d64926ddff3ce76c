"""Pictures of a report: the terms of the time as bars, and the roofline."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from math import log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_passes.model import KernelPrediction

__all__ = ["quantity", "roofline", "seconds", "terms"]

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 440, 320, 58, 46, 26, 26
Scale = Callable[[float], float]
DECADES = 4
"""Decades of arithmetic intensity that the roofline shows, from a tenth up."""


def seconds(value: float) -> str:
    """A time with its unit, three digits."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def quantity(value: float, unit: str) -> str:
    """A number with a decimal prefix and its unit."""
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def terms(kernel: KernelPrediction) -> str:
    """A bar for each term, as long as its part of the whole time."""
    rows = []
    for term in (t for t in kernel.terms if t.is_loss or t.seconds):
        part = min(1.0, term.seconds / kernel.seconds) if kernel.seconds else 0.0
        kind = "loss" if term.is_loss else "best" if term.name == kernel.bound else "unit"
        rows.append(
            f'<div class="term {kind}"><span class="name">{escape(term.name)}</span>'
            f'<span class="bar"><i style="width:{part:.2%}"></i></span>'
            f'<span class="num">{seconds(term.seconds)}</span>'
            f'<span class="part">{part:.0%}</span>'
            f'<span class="detail">{escape(term.detail)}</span></div>'
        )
    return f'<div class="terms">{"".join(rows)}</div>'


def roofline(kernel: KernelPrediction, measured: float | None = None) -> str:
    """Operations a second against operations a byte, both logarithmic, with the machine's roof.

    Empty where the kernel has no products, moves nothing, or the machine has no rates.
    """
    if not kernel.flops or not kernel.device_bytes or not kernel.device_rate:
        return ""
    intensity = kernel.flops / kernel.device_bytes
    ridge = kernel.peak_flops / kernel.device_rate
    first = min(-1, int(log10(max(intensity, 1e-3))) - 1)
    last = max(first + DECADES, int(log10(max(intensity, ridge))) + 1)
    top = log10(kernel.peak_flops) + 0.25
    bottom = min(top - 3, log10(kernel.flops / kernel.seconds) - 0.5)

    def x(value: float) -> float:
        return LEFT + (log10(value) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (top - log10(value)) / (top - bottom) * (HEIGHT - TOP - BOTTOM)

    low = max(10.0**first, 10.0**bottom / kernel.device_rate)
    roof = [(low, low * kernel.device_rate), (ridge, kernel.peak_flops)]
    roof.append((10.0**last, kernel.peak_flops))
    line = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in roof)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" class="roofline" '
        'role="img"><title>Roofline</title>',
        *_grid(first, last, bottom, top, x, y),
        f'<polyline points="{line}" class="roof"/>',
        f'<text x="{x(10.0**last) - 2:.1f}" y="{y(kernel.peak_flops) - 8:.1f}" '
        f'text-anchor="end">{quantity(kernel.peak_flops, "op/s")}</text>',
        f'<text x="{x(low) + 24:.1f}" y="{y(low * kernel.device_rate) - 8:.1f}">'
        f"{quantity(kernel.device_rate, 'B/s')}</text>",
    ]
    for kind, time in (("predicted", kernel.seconds), ("measured", measured)):
        if time:
            parts.append(_point(x(intensity), y(kernel.flops / time), kind, kernel.flops / time))
    return (
        f'<div class="beside">{"".join((*parts, "</svg>"))}{_facts(kernel, intensity, ridge)}</div>'
    )


def _facts(kernel: KernelPrediction, intensity: float, ridge: float) -> str:
    """The numbers of the picture."""
    roof = min(kernel.peak_flops, intensity * kernel.device_rate)
    facts = {
        "operations a byte": f"{intensity:,.4g}",
        "where the roofs meet": f"{ridge:,.4g}",
        "roof here": quantity(roof, "op/s"),
        "predicted": f"{kernel.flops / kernel.seconds / roof:.0%} of the roof",
    }
    return f"<dl>{''.join(f'<dt>{n}</dt><dd>{v}</dd>' for n, v in facts.items())}</dl>"


def _grid(first: int, last: int, bottom: float, top: float, x: Scale, y: Scale) -> list[str]:
    out = []
    for decade in range(first, last + 1):
        at, text = x(10.0**decade), f"{10.0**decade:g}"
        out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        place = f'x="{at:.1f}" y="{HEIGHT - BOTTOM + 17}"'
        out.append(f'<text {place} text-anchor="middle">{text}</text>')
    for decade in range(int(bottom) + 1, int(top) + 1):
        at = y(10.0**decade)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        text = quantity(10.0**decade, "")
        out.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(
        f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">'
        "operations a byte of device memory</text>"
    )
    return out


def _point(x: float, y: float, kind: str, rate: float) -> str:
    text = f"{kind}: {quantity(rate, 'op/s')}"
    below = 36 if kind == "measured" else 18
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" class="{kind}"/>'
        f'<text x="{x - 8:.1f}" y="{y + below:.1f}" text-anchor="end" class="label">{text}</text>'
    )
