"""Layouts: where a tile's elements lie in memory, and which thread holds them in which register.

A layout is a function between named axes, written in mixed-radix digits: `TileLayout` (coordinate
-> offset, with at most one XOR on bytes), `FragmentLayout` ((group, thread, value) -> coordinate),
`DigitMap` (between any axes) and `MapLayout` (a table, where digits cannot say it). `str(layout)`
and `parse_layout` are inverse to each other.
"""

from tile_ir.layout.algebra import (
    complement,
    compose,
    identity_map,
    inverse,
    refine,
    same_function,
)
from tile_ir.layout.axes import broadcast, project, rename, restrict, split, transpose
from tile_ir.layout.banks import (
    BankCycles,
    BankModel,
    access_cycles,
    vector_elements,
    warp_cycles,
)
from tile_ir.layout.base import (
    GROUP,
    OFFSET,
    THREAD,
    VALUE,
    Axis,
    DigitLayout,
    DigitMap,
    Layout,
    Term,
)
from tile_ir.layout.convert import Conversion, ConversionKind, conversion, convert_kind
from tile_ir.layout.digits import (
    Digit,
    Digits,
    coalesce_digits,
    cut_digits,
    extent_of,
    places,
    refine_digits,
)
from tile_ir.layout.fragment import FragmentLayout
from tile_ir.layout.kinds import coalesce, make_layout
from tile_ir.layout.make import (
    blocked,
    column_major,
    default_axes,
    one_row_each,
    panels,
    replicated,
    row_major,
    swizzle_for,
)
from tile_ir.layout.parse import parse_digits, parse_layout
from tile_ir.layout.recognise import fragment_from_function, from_function, recognise
from tile_ir.layout.render import render_text
from tile_ir.layout.swizzle import Swizzle
from tile_ir.layout.table import HOLE, MAX_TABLE, MapLayout, tabulate
from tile_ir.layout.tile import TileLayout

__all__ = [
    "GROUP",
    "HOLE",
    "MAX_TABLE",
    "OFFSET",
    "THREAD",
    "VALUE",
    "Axis",
    "BankCycles",
    "BankModel",
    "Conversion",
    "ConversionKind",
    "Digit",
    "DigitLayout",
    "DigitMap",
    "Digits",
    "FragmentLayout",
    "Layout",
    "MapLayout",
    "Swizzle",
    "Term",
    "TileLayout",
    "access_cycles",
    "blocked",
    "broadcast",
    "coalesce",
    "coalesce_digits",
    "column_major",
    "complement",
    "compose",
    "conversion",
    "convert_kind",
    "cut_digits",
    "default_axes",
    "extent_of",
    "fragment_from_function",
    "from_function",
    "identity_map",
    "inverse",
    "make_layout",
    "one_row_each",
    "panels",
    "parse_digits",
    "parse_layout",
    "places",
    "project",
    "recognise",
    "refine",
    "refine_digits",
    "rename",
    "render_text",
    "replicated",
    "restrict",
    "row_major",
    "same_function",
    "split",
    "swizzle_for",
    "tabulate",
    "transpose",
    "vector_elements",
    "warp_cycles",
]
