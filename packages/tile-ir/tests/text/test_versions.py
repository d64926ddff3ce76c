"""Texts of older versions: what they say is brought up to date, what they cannot know is refused,
and a text names the first version that has all it uses."""

from __future__ import annotations

import re

import pytest

from tile_ir.core import Module, Region
from tile_ir.diag import TileError
from tile_ir.opdef import _BY_CLASS, OPS, UPDATE, Stmt, attr, op, opdef, operand
from tile_ir.schema import NEWER_WORDS, SCHEMA_VERSION, check_schema, words_version
from tile_ir.text import parse_module, print_module

FN = "func @f(X: global f32[8]) {\n  kernel @f {\n    tiles (b) in (1) {\n      BODY\n    }\n  }\n}"


@pytest.fixture(scope="module")
def scaled():
    """An op that version 1.1 changed: an attribute has another name, one that is left out means
    something else, a factor that was in percent is one in thousandths, and a note is new."""

    def in_thousandths(values):
        return {**values, "factor": values["factor"] * 10}

    @op("scale_tile", syntax="scale_tile $dst by $factor", upgrades=(((1, 1), in_thousandths),))
    class ScaleTile(Stmt):
        """Example of a declaration that has a history."""

        dst: Region = operand(UPDATE)
        factor: int = attr()
        axis: int = attr(0, was=((1, 1), "dim"))
        keep: bool = attr(False, before=((1, 1), True))
        note: str = attr("", since=(1, 1))

    yield ScaleTile
    del OPS["scale_tile"], _BY_CLASS[ScaleTile]


def parsed(version, body):
    return parse_module(f"tile.ir {version} tile\n\n{FN.replace('BODY', body)}\n")


def only(module):
    return module.functions[0].body[0].body[0].body[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale_tile X[:] by 50", "scale_tile X[:] by 500 keep"),
        ("scale_tile X[:] by 7 dim = 1", "scale_tile X[:] by 70 axis = 1, keep"),
        ("scale_tile X[:] by 7 keep = false", "scale_tile X[:] by 70"),
    ],
)
def test_an_old_text_means_what_it_meant(scaled, old, new):
    module = parsed("1.0", old)
    assert module == parsed("1.1", new)
    assert isinstance(only(module), scaled)
    text = print_module(module)
    assert text.startswith("tile.ir 1.1 tile\n")
    assert new in text
    assert parse_module(text) == module


def test_names_belong_to_their_versions(scaled):
    for version, body, name in [("1.1", "dim = 1", "dim"), ("1.0", "axis = 1", "axis")]:
        with pytest.raises(TileError, match=f"has no attribute {name}") as caught:
            parsed(version, f"scale_tile X[:] by 1 {body}")
        assert caught.value.code == "E0012"
    with pytest.raises(TileError, match=r"note of scale_tile exists since version 1\.1") as caught:
        parsed("1.0", "scale_tile X[:] by 1 note = hello")
    assert (caught.value.code, caught.value.span.line) == ("E0017", 6)
    assert caught.value.help == "raise the version line to 1.1"


def test_what_uses_nothing_new_stays_readable_to_older_packages():
    module = parsed("1.1", "fill X[:], 0.0")
    assert print_module(module).startswith("tile.ir 1.0 tile\n")
    assert print_module(Module(functions=())) == "tile.ir 1.0 tile\n"


def test_new_words_need_their_version(monkeypatch):
    assert words_version("reduce prod x[:] -> y[:]") == (1, 0)
    monkeypatch.setattr("tile_ir.schema.NEWER_WORDS", {**NEWER_WORDS, "prod": (1, 1)})
    assert words_version("reduce prod x[:] -> y[:]") == (1, 1)
    assert words_version("reduce produce x[:] -> y[:]") == (1, 0)


@pytest.mark.parametrize(
    ("version", "fix"),
    [
        ((SCHEMA_VERSION[0], SCHEMA_VERSION[1] + 1), "newer than .*pip install --upgrade tile-ir"),
        ((2, 0), "newer than"),
        ((0, 3), "no release of tile-ir ever read"),
        ((2, 5), "install tile-ir 9.1, which reads it"),
    ],
)
def test_a_version_that_is_not_read_names_the_release_that_reads_it(monkeypatch, version, fix):
    monkeypatch.setattr("tile_ir.schema.RELEASES", {(2, 5): "9.1"})
    with pytest.raises(TileError, match=r"this text has version \d\.\d, tile-ir ") as caught:
        check_schema(version)
    assert caught.value.code == "E0002"
    assert re.search(fix, caught.value.help)


def test_no_op_of_ours_forgets_a_version():
    for declared in OPS.values():
        assert declared.since <= declared.read_from <= SCHEMA_VERSION
        assert opdef(declared.cls) is declared
