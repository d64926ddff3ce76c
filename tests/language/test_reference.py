"""The reference: a page of it for every name, and the program that shows a name runs."""

import re
from pathlib import Path

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend.language.dtypes import OBJECTS
from tile_frontend.language.function import PrimFunc
from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.interp.bind import written
from tile_ir.numerics.array import to_numpy_dtype
from tile_ir.testing.by_path import module_at

PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("*.md"))
SECTION = re.compile(r"^## (\w+)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

NEED_A_DEVICE = ("E0712", "E0613", "E3101", "E1520")
"""What a target says to a program that asks for what it has not: roles, clusters, source text."""

SIZE = 24
"""Of every dimension that a program leaves open."""


def sections():
    """Each name with the program of its section."""
    return [
        (name, program[1] if (program := PROGRAM.search(text)) else None)
        for page in PAGES
        for name, text in SECTION.findall(page.read_text("utf-8"))
    ]


SHOWN = sections()


def arguments(program, rng):
    """An array of small numbers for every parameter."""
    made = []
    for param in program.function.params:
        if param.name in program.function.results:
            continue
        buffer = param.buffer
        shape = [int(e.value) if isinstance(e, Const) else SIZE for e in buffer.shape]
        dtype = to_numpy_dtype(buffer.dtype)
        made.append(rng.integers(-9, 10, shape).astype(dtype))
    return made


@pytest.mark.parametrize(("name", "text"), [pytest.param(*s, id=s[0]) for s in SHOWN])
def test_the_program_of_a_name_runs(run, rng, tmp_path, name, text, request):
    assert text is not None, f"T.{name} has no program"
    assert re.search(rf"\bT\.{name}\b", text), f"the program of T.{name} does not show it"
    path = tmp_path / "shown.py"
    path.write_text(text, "utf-8")
    program = module_at(path).example
    if not isinstance(program, PrimFunc):
        program = program.get_tir(np.zeros((SIZE, SIZE), np.float32))
    assert written(program.function), f"the program of T.{name} shows no value"
    given = arguments(program, rng)
    try:
        run(program, *given)
    except TileError as error:
        if error.code not in NEED_A_DEVICE:
            raise
        if request.config.getoption("--on"):
            pytest.skip(f"T.{name}: {error.message}")
        request.getfixturevalue("nvrtc")
        kernel = tile.compile(program, target="cuda -arch=sm_90a", device="emulator")
        run(kernel, *given)


def test_every_name_has_a_section():
    from tile_frontend.language.dialects import dialect_names

    wanted = {*T.__all__, *dialect_names()}
    vectors = {n for n in OBJECTS if re.search(r"x\d+$", n)}
    assert {name for name, _ in SHOWN} == wanted - vectors


def test_the_pages_are_what_the_docstrings_say(generated):
    assert generated("reference") == []
