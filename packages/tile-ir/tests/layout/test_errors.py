"""Every code of the layouts' area, with the message that the user meets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tile_ir.layout
from tile_ir.codes.layout import CODES
from tile_ir.diag import TileError
from tile_ir.layout import (
    Axis,
    BankModel,
    Digit,
    DigitMap,
    FragmentLayout,
    Layout,
    Swizzle,
    TileLayout,
    access_cycles,
    blocked,
    broadcast,
    complement,
    compose,
    fragment_from_function,
    from_function,
    inverse,
    panels,
    parse_layout,
    project,
    restrict,
    row_major,
    split,
    tabulate,
    transpose,
)

ROW = "thread (4:-, 8:m*1) value (2:m*8)"


def tile(text: str) -> TileLayout:
    found = parse_layout(text)
    assert isinstance(found, TileLayout)
    return found


def banks(layout: Layout, fragment: Layout, vector: int) -> object:
    model = BankModel(banks=32, bank_bytes=4)
    return access_cycles(
        layout, fragment, element_bits=16, vector=vector, warp_width=32, model=model
    )


CASES = {
    "no axis": ("E0301", "expected an axis, found `end of text`", lambda: parse_layout("")),
    "stray character": (
        "E0301",
        "cannot contain .* column 10",
        lambda: parse_layout("m (4:1)  ; k"),
    ),
    "no stride": ("E0301", "expected ':', found `\\)` at column 5", lambda: parse_layout("m (4)")),
    "no star": ("E0301", "expected '\\*'", lambda: parse_layout("thread (4:n) value ()")),
    "tail": ("E0301", "expected the end, found `4`", lambda: parse_layout("m (4:1) 4")),
    "short swizzle": ("E0301", "expected ','", lambda: parse_layout("m (4:1) swizzle<3,4>")),
    "no extent": ("E0301", "expected an integer", lambda: parse_layout("map n -> offset 4 [0+4]")),
    "no name": ("E0301", "expected a name", lambda: parse_layout("map 4 -> offset 4 [0+4]")),
    "empty digit": ("E0302", "digit with extent 0", lambda: Digit(0, "m", 1)),
    "backwards": ("E0302", "stride -1", lambda: parse_layout("m (4:-1)")),
    "stride alone": ("E0302", "axis None", lambda: Digit(4, None, 2)),
    "overlap": ("E0303", "`swizzle<3,4,2>` is not", lambda: Swizzle(3, 4, 2)),
    "odd width": (
        "E0303",
        "16 bytes, no multiple of 24",
        lambda: Swizzle(3, 4, 3).apply_elements(1, 24),
    ),
    "doubled axis": ("E0304", "input axis `m` is doubled", lambda: parse_layout("m (2:1) m (2:2)")),
    "reserved": ("E0304", "`map` is doubled or", lambda: TileLayout(inputs=(Axis("map", ()),))),
    "unknown output": (
        "E0304",
        "moves along `n`",
        lambda: FragmentLayout(thread=(Digit(2, "n", 1),), value=(), outputs=("m",)),
    ),
    "digit map of a tile": (
        "E0304",
        "has a class of its own",
        lambda: DigitMap(inputs=(Axis("m", (Digit(2, "offset", 1),)),), outputs=("offset",)),
    ),
    "offset fragment": (
        "E0304",
        "gives coordinates",
        lambda: FragmentLayout(thread=(), value=(), outputs=("offset",)),
    ),
    "swizzled fragment": (
        "E0304",
        "a swizzle exchanges offsets",
        lambda: parse_layout(ROW + " swizzle<3,4,3>"),
    ),
    "wrong rank": (
        "E0304",
        "1 coordinates for the axes \\(m, k\\)",
        lambda: tile("m (2:1) k (2:2)").offset((1,)),
    ),
    "result rank": (
        "E0304",
        "2 coordinates for the results",
        lambda: tile("m (2:1)").preimages((1, 2)),
    ),
    "no offset": (
        "E0304",
        "gives \\(m\\), not an offset",
        lambda: parse_layout(ROW).offset((1, 0)),
    ),
    "no threads": ("E0304", "does not start from threads", lambda: tile("m (2:1)").coord(0, 0)),
    "no owners": ("E0304", "does not start from threads", lambda: tile("m (2:1)").owners((0,))),
    "no axis k": ("E0304", "has no axis `k`", lambda: tile("m (2:1)").axis("k")),
    "reduce nothing": ("E0304", "has no axis `n`", lambda: project(parse_layout(ROW), "n")),
    "split nothing": ("E0304", "has no axis `n`", lambda: split(parse_layout(ROW), "n", 2)),
    "broadcast twice": (
        "E0304",
        "an axis `m` already",
        lambda: broadcast(parse_layout(ROW), "m", 2),
    ),
    "no order": (
        "E0304",
        "\\(m\\) is no order",
        lambda: transpose(tile("m (2:1) k (2:2)"), ("m",)),
    ),
    "no panel axis": (
        "E0313",
        "along `q`",
        lambda: panels((2, 2), ("m", "k"), along="q", width=2),
    ),
    "width unknown": (
        "E0305",
        "needs the width",
        lambda: tile("m (2:1) swizzle<3,4,3>").offset((1,)),
    ),
    "size unknown": ("E0305", "needs the width", lambda: tile("m (2:1) swizzle<3,4,3>").cosize()),
    "outside": (
        "E0306",
        "point \\(4\\) lies outside",
        lambda: tabulate(tile("m (4:1)")).evaluate((4,)),
    ),
    "mismatch": ("E0307", "cannot follow", lambda: compose(tile("k (16:1)"), parse_layout(ROW))),
    "shared result": ("E0308", "two points share", lambda: inverse(tile("m (4:1, 4:2)"))),
    "copies": ("E0308", "two points share", lambda: inverse(parse_layout(ROW))),
    "swizzled": ("E0308", "is swizzled", lambda: inverse(tile("m (4:1) swizzle<3,4,3>"))),
    "large": ("E0309", "65537 places", lambda: tabulate(row_major((65537,)))),
    "large run": ("E0309", "70000 places", lambda: parse_layout("map n 4 -> offset 4 [0*70000]")),
    "short table": ("E0310", "does not fit", lambda: parse_layout("map n 4 -> offset 4 [0+3]")),
    "high entry": ("E0310", "does not fit", lambda: parse_layout("map n 2 -> offset 2 [0, 2]")),
    "no copies": (
        "E0311",
        "the gaps of",
        lambda: complement(parse_layout("x (2:m*1, 2:m*3) -> (m)"), (12,)),
    ),
    "cut": ("E0312", "cannot be cut after 3", lambda: restrict(tile("m (4:1)"), "m", 3)),
    "empty tile": ("E0313", "shape \\(0, 4\\)", lambda: row_major((0, 4), ("m", "k"))),
    "names": ("E0313", "axes \\(m\\)", lambda: row_major((2, 4), ("m",))),
    "no width": (
        "E0313",
        "panels of width 0",
        lambda: panels((2, 2), ("m", "k"), along="m", width=0),
    ),
    "no threads at all": ("E0313", "0 threads", lambda: blocked((4,), threads=0)),
    "no place": (
        "E0314",
        "returned None for \\(0,\\)",
        lambda: from_function((4,), lambda i: None),
    ),
    "negative place": ("E0314", "returned -1", lambda: from_function((4,), lambda i: i - 1)),
    "lengths": (
        "E0314",
        "different lengths",
        lambda: from_function((2,), lambda i: (0,) * (i + 1)),
    ),
    "no pair": ("E0314", "a thread and a value", lambda: fragment_from_function((4,), lambda i: i)),
    "one place": (
        "E0315",
        "\\(0,\\) and \\(2,\\) in one place",
        lambda: from_function((4,), lambda i: i % 2),
    ),
    "no banks": ("E0316", "0 banks", lambda: BankModel(banks=0, bank_bytes=4)),
    "vector": (
        "E0316",
        "2 values per thread",
        lambda: banks(tile("m (16:1)"), parse_layout(ROW), 3),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_error(name):
    code, message, action = CASES[name]
    with pytest.raises(TileError) as caught:
        action()
    assert caught.value.code == code
    assert re.search(message, caught.value.message)


def test_every_code_is_raised_tested_and_explained():
    sources = Path(tile_ir.layout.__file__).parent.glob("*.py")
    raised = {code for path in sources for code in re.findall(r'"(E\d{4})"', path.read_text())}
    assert raised == set(CODES) == {code for code, _, _ in CASES.values()}
    assert all(title and explanation for title, explanation in CODES.values())
