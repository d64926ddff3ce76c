"""Mistakes planted into passes are found within a bounded number of programs, blamed on their pass
and reduced to a few lines.
"""

import pytest

from tile_passes.fuzz import cases
from tile_passes.fuzz.corpus import read_cases
from tile_passes.fuzz.session import Options, fuzz, replayed

SHORT = 15
QUICK = {"a dropped clip": 0, "a live fill removed": 29, "a wrong reduction identity": 26}
"""Mistakes that a test of the default run looks for, from a program shortly before the first that
shows them.
"""
NAMES = (
    *("a dropped clip", "a wrong init of a product", "a ring one slot short"),
    *("a missing barrier", "a slot released before its use", "a lost conversion"),
    *("a wrong reduction identity", "a wrong split of trips", "no tail of a vector loop"),
    *("a wrong swizzle", "a wrong comparison", "a live fill removed"),
)


def hunt(mistake, monkeypatch, first, count):
    """The first thing that is found with the mistake in its pass."""
    right = cases.pipeline_of
    monkeypatch.setattr(cases, "pipeline_of", lambda target: mistake.into(right(target)))
    for seed in range(first, first + count):
        options = Options(count=1, seed=seed, targets=(mistake.target,), build=False)
        report = fuzz(options)
        if report.mistakes:
            return report.mistakes[0]
    raise AssertionError(f"not found among {count} programs")


def check(mistake, monkeypatch, tmp_path, first, count):
    found = hunt(mistake, monkeypatch, first, count)
    assert found.where == mistake.where
    assert found.lines < SHORT, found.text
    (tmp_path / "found.tir").write_text(found.text)
    monkeypatch.undo()
    for case, device in read_cases(tmp_path / "found.tir"):
        assert replayed(case, device) is None, "right passes are blamed too"


def test_every_mistake_is_listed(planted):
    assert tuple(planted) == NAMES


@pytest.mark.parametrize("name", QUICK)
def test_found_and_reduced(planted, monkeypatch, tmp_path, name):
    check(planted[name], monkeypatch, tmp_path, QUICK[name], 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_found_among_the_first_programs(planted, monkeypatch, tmp_path, name):
    mistake = planted[name]
    check(mistake, monkeypatch, tmp_path, 0, mistake.within)
