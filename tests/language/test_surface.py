"""docs/surface.md is true: every name that public programs use is there, with what shows it."""

import re

import pytest

DEVICES = ("cuda -arch=sm_80", "cuda -arch=sm_90a", "rocm -arch=gfx942", "metal -arch=apple7")
TARGETS = ("cpu", *DEVICES)
ROW = re.compile(r"^\| (\d+) \| `(\w+)` \| ([\w ]+) \| (.*?) \| (.*?) \|$", re.MULTILINE)
REFUSED = re.compile(r"^\| (\d+) \| `(\w+)` \| ([\w ]+) \| (E\d{4}: .+?) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def text(root):
    """The page."""
    return (root / "docs" / "surface.md").read_text("utf-8")


def test_every_name_is_there_once(text, surface):
    found = [name for _, name, *_ in ROW.findall(text)]
    found += [name for _, name, *_ in REFUSED.findall(text)]
    assert sorted(found) == sorted(w.name for w in surface.surface())
    assert len(found) == 342


def test_what_is_refused_has_a_reason_that_is_still_true(text, surface):
    rows = REFUSED.findall(text)
    assert {name: reason for _, name, _, reason in rows} == {
        w.name: reason for w in surface.surface() if (reason := surface.why_not(w.name))
    }
    assert all(len(reason) > 40 for *_, reason in rows)


def test_what_is_carried_out_is_compared_by_the_test_that_is_named(text, surface):
    rows = ROW.findall(text)
    assert len(rows) > 230
    wrong = [
        f"T.{name}: {shown}" for _, name, _, _, shown in rows if not holds(surface, name, shown)
    ]
    assert wrong == []


def holds(surface, name, shown):
    """Whether a test is one of those that use a name, or the name has none."""
    if name in surface.HOST_ONLY and shown == "host only":
        return True
    tests = {usage.test for usage in surface.numeric_tests().get(name, ())}
    return shown.strip("`") in (tests or {surface.PROGRAM})


@pytest.mark.parametrize("target", TARGETS)
def test_targets_are_those_that_compile_the_program_of_a_name(text, surface, target):
    """One name in five for each target: all of them are compiled when the page is written."""
    assert target in surface.TARGETS
    rows = ROW.findall(text)[TARGETS.index(target) :: len(TARGETS)]
    short = surface.short(target)
    wrong = [
        name
        for _, name, _, where, _ in rows
        if surface.runs_on(name, target) != (where == "all" or short in where.split(", "))
    ]
    assert wrong == []
