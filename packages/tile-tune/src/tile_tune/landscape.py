"""The trials of a search as an SVG picture: for every axis a panel, values along it, time upwards.

Time is shown as a multiple of the best, on a logarithmic scale; each dot is a candidate, the lowest
dots of neighbouring values form the floor on which the axis alone would move.
"""

from __future__ import annotations

from html import escape
from math import log
from typing import TYPE_CHECKING

from tile_tune.searchers.base import best_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_tune.configuration import Configuration, Value
    from tile_tune.trial import Trial

__all__ = ["landscape"]

WIDTH, HEIGHT, MARGIN = 260, 180, 36
COLUMNS = 3
TOP_RATIO = 8.0
"""Candidates slower than this many times the best are drawn at the upper edge."""


def landscape(name: str, trials: Sequence[Trial], best: Configuration) -> str:
    """The picture as text. Only measured trials appear; failed ones are counted in the title."""
    ranked = best_first(trials)
    axes = _axes(ranked)
    rows = max(1, -(-len(axes) // COLUMNS))
    columns = min(COLUMNS, max(1, len(axes)))
    size = (columns * (WIDTH + MARGIN) + MARGIN, rows * (HEIGHT + 2 * MARGIN) + MARGIN)
    floor = ranked[0].median if ranked else 1.0
    title = f"{name}: {len(ranked)} of {len(trials)} candidates have times; best {best}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        'font-family="sans-serif" font-size="10">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="16">{escape(title)}</text>',
    ]
    for i, (axis, values) in enumerate(axes.items()):
        x = MARGIN + (i % COLUMNS) * (WIDTH + MARGIN)
        y = MARGIN + (i // COLUMNS) * (HEIGHT + 2 * MARGIN)
        parts.append(f'<g transform="translate({x},{y})">')
        parts += _panel(axis, values, ranked, floor, best)
        parts.append("</g>")
    return "\n".join((*parts, "</svg>")) + "\n"


def _axes(trials: Sequence[Trial]) -> dict[str, list[Value]]:
    """Name -> its values, for the axes along which the trials differ."""
    found: dict[str, list[Value]] = {}
    for t in trials:
        for name, value in t.configuration.values.items():
            values = found.setdefault(name, [])
            if value not in values:
                values.append(value)
    several = {n: v for n, v in found.items() if len(v) > 1}
    return {n: sorted(v, key=lambda x: (str(type(x)), x)) for n, v in several.items()}


def _height(median: float, floor: float) -> float:
    """Pixels from the upper edge: the best is at the bottom."""
    ratio = min(TOP_RATIO, max(1.0, median / floor))
    return HEIGHT * (1 - log(ratio) / log(TOP_RATIO))


def _panel(
    axis: str, values: list[Value], trials: Sequence[Trial], floor: float, best: Configuration
) -> list[str]:
    step = WIDTH / len(values)
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#bbb"/>',
        f'<text x="0" y="-4">{escape(axis)}</text>',
    ]
    for ratio in (1, 2, 4, 8):
        y = _height(ratio, 1.0)
        parts.append(f'<line x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>')
        parts.append(f'<text x="{WIDTH + 2}" y="{y + 3:.1f}" fill="#888">{ratio}x</text>')
    for i, value in enumerate(values):
        text = escape(str(value))
        place = f'x="{(i + 0.5) * step:.1f}" y="{HEIGHT + 12}"'
        parts.append(f'<text {place} text-anchor="middle">{text}</text>')
    for t in reversed(trials):
        value = t.configuration.values.get(axis)
        if value in values:
            x, y = (values.index(value) + 0.5) * step, _height(t.median, floor)
            look = 'r="4" fill="#c22"' if t.configuration == best else 'r="2.5" fill="#36a"'
            name = escape(f"{t.median:.4g} ms {t.configuration}")
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" {look}><title>{name}</title></circle>')
    return parts
