"""A snapshot of the vocabulary, and every kind of promise that a change could break."""

import copy
import dataclasses

import pytest

from tile_ir.opdef import OPS
from tile_ir.schema import SCHEMA_VERSION
from tile_ir.testing.stability import broken_promises, snapshot

FIRST = snapshot((1, 0))


def test_today_keeps_its_own_promises():
    assert broken_promises(snapshot()) == []
    assert broken_promises(FIRST) == []
    assert FIRST["ops"]["copy"]["fields"]["clip"] == {
        "kind": "attr",
        "type": "bool",
        "default": "False",
    }
    assert "dependent" not in FIRST["ops"]["kernel"]["fields"]
    assert FIRST["functions"]["fma"] == [3, "float", "same"]
    assert "absmax" in FIRST["words"]["reduce.kind"]


def edited(*path, to=None):
    """The first snapshot with one thing changed, or gone when `to` is None."""
    made = copy.deepcopy(FIRST)
    place = made
    for key in path[:-1]:
        place = place[key]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return made


FIELDS = ("ops", "copy", "fields")
NEXT = f"(1, {SCHEMA_VERSION[1]})"


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (edited("ops", "warp", to=FIRST["ops"]["fill"]), "op warp is gone: keep it"),
        (edited("ops", "fill"), "op fill is new: say since=(1, 1)"),
        (edited(*FIELDS, "clip"), "clip of copy is new: say since=(1, 1)"),
        (
            edited(*FIELDS, "hint", to=FIRST["ops"]["copy"]["fields"]["clip"]),
            f'hint of copy is gone: keep it, or give its new name was=({NEXT}, "hint")',
        ),
        (
            edited(*FIELDS, "width", "default", to="1"),
            f"width of copy left out means 0 now: say before=({NEXT}, 1)",
        ),
        (edited(*FIELDS, "width", "type", to="str"), "width of copy was attr str: add another"),
        (edited("ops", "copy", "syntax", to="copy $dst"), "the form of copy changed"),
        (edited("ops", "copy", "stages", to=["tile", "x"]), "copy is not of all the stages"),
        (edited("functions", "fma", to=[2, "float", "same"]), "function fma is gone or changed"),
        (edited("functions", "fma"), "function fma is new: name it in NEWER_WORDS"),
        (edited("words", "reduce.kind", to=["sum"]), "reduce.kind max is new: name it in NEWER"),
        (
            edited("words", "scan.kind", to=["sum", "max", "mean"]),
            "scan.kind = mean is gone or changed: keep it",
        ),
    ],
)
def test_what_broke_is_said_with_what_to_do(old, said):
    assert [line for line in broken_promises(old) if line.startswith(said)], broken_promises(old)


def test_a_renamed_attribute_keeps_the_promise(monkeypatch):
    old = edited(*FIELDS, "hint", to=FIRST["ops"]["copy"]["fields"]["eviction"])
    del old["ops"]["copy"]["fields"]["eviction"]
    fields = [
        f
        if f.name != "eviction"
        else renamed(f, {**f.metadata, "was": ((1, 1), "hint"), "before": ((1, 1), "normal")})
        for f in OPS["copy"].fields
    ]
    monkeypatch.setitem(OPS, "copy", dataclasses.replace(OPS["copy"], fields=tuple(fields)))
    assert broken_promises(old) == []


def renamed(f, metadata):
    """A field with other metadata."""
    made = dataclasses.field(default=f.default, metadata=metadata)
    made.name, made.type = f.name, f.type
    return made
