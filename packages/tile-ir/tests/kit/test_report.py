"""The report of conformance: what counts as reached, its JSON, its table, the command's status."""

import json
import sys
from types import MappingProxyType, ModuleType

import pytest

from tile_ir.diag import TileError
from tile_ir.testing.conformance import Conformance, TargetConformance, examine
from tile_ir.testing.conformance.__main__ import main
from tile_ir.testing.conformance.base import refuse


class Checks(Conformance):
    """A subject with a check that refuses one of its samples."""

    levels = ("easy", "hard")
    checks = MappingProxyType(
        {"test_adds_up": "easy", "test_takes_samples": "easy", "test_runs": "hard"}
    )
    samples = ("vector_add", "scan")
    target = "checks"
    broken = False

    @property
    def subject(self):
        return self.target

    def test_adds_up(self, tmp_path):
        (tmp_path / "sum").write_text(str(1 + 1))
        assert (tmp_path / "sum").read_text() == "2"

    def test_takes_samples(self, sample):
        if sample == "scan":
            refuse(TileError("E3101", "no scan here", help="do without"))

    def test_runs(self):
        assert not self.broken, "the device is on fire\nand so is the room"


class Broken(Checks):
    broken = True


class Absent(Checks):
    def test_runs(self):
        pytest.skip("needs a device")


def statuses(report):
    return [(f.level, f.check, f.status) for f in report.findings]


def test_every_check_is_found_with_its_status():
    assert statuses(examine(Checks())) == [
        ("easy", "adds up", "passed"),
        ("easy", "takes samples: vector_add", "passed"),
        ("easy", "takes samples: scan", "refused"),
        ("hard", "runs", "passed"),
    ]


def test_a_refusal_by_name_does_not_stop_a_level():
    report = examine(Checks())
    assert report.reached == "hard"
    assert report.conforms
    assert report.findings[2].detail == "E3101: no scan here"


@pytest.mark.parametrize(
    ("kind", "status", "detail"),
    [
        (Broken, "failed", "AssertionError: the device is on fire"),
        (Absent, "unavailable", "needs a device"),
    ],
)
def test_what_failed_or_could_not_be_tried_is_not_reached(kind, status, detail):
    report = examine(kind())
    last = report.findings[-1]
    assert (last.status, last.detail.splitlines()[0]) == (status, detail)
    assert report.reached == "easy"
    assert not report.conforms
    assert examine(kind(), "easy").conforms


def test_a_level_without_a_pass_is_not_reached():
    class Nothing(Checks):
        def test_runs(self):
            refuse(TileError("E3101", "not this either", help="do without"))

    assert examine(Nothing()).reached == "easy"


def test_an_unknown_level_is_an_error():
    with pytest.raises(ValueError, match="soft"):
        examine(Checks(), "soft")


def test_the_table_counts_and_names_what_did_not_pass():
    lines = examine(Broken()).table().splitlines()
    assert lines[0].split() == [
        "level", "passed", "refused", "unavailable", "failed", "seconds",
    ]  # fmt: skip
    assert lines[1].split()[:5] == ["easy", "2", "1", "0", "0"]
    assert lines[2].split()[:5] == ["hard", "0", "0", "0", "1"]
    assert lines[3:5] == [
        "refused      easy: takes samples: scan: E3101: no scan here",
        "failed       hard: runs: AssertionError: the device is on fire",
    ]
    assert lines[5] == "checks does not conform through level hard"


@pytest.fixture
def module(monkeypatch):
    made = ModuleType("made_for_the_command")
    made.Checks, made.Broken = Checks, Broken
    monkeypatch.setitem(sys.modules, made.__name__, made)


@pytest.mark.usefixtures("module")
def test_the_command_writes_json(tmp_path, capsys):
    file = tmp_path / "mine.json"
    of = "made_for_the_command:Checks"
    assert main(["mine", "--of", of, "--samples", "scan,pool", "--json", str(file)]) == 0
    assert "mine conforms through level hard" in capsys.readouterr().out
    made = json.loads(file.read_text())
    assert (made["schema"], made["subject"], made["reached"]) == (1, "mine", "hard")
    assert made["levels"]["easy"] == {"passed": 2, "refused": 1, "unavailable": 0, "failed": 0}
    assert [f["check"] for f in made["findings"]] == [
        "adds up",
        "takes samples: scan",
        "takes samples: pool",
        "runs",
    ]


@pytest.mark.usefixtures("module")
def test_the_command_fails_where_the_level_is_not_reached(capsys):
    assert main(["mine", "--of", "made_for_the_command:Broken"]) == 1
    assert main(["mine", "--of", "made_for_the_command:Broken", "--level", "easy"]) == 0
    assert "mine conforms through level easy" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["mine", "--level", "soft"],
        ["mine", "--of", "no_such_module:Checks"],
        ["mine", "--of", "pathlib:Path"],
        ["mine", "--samples", "scan,no_such_sample"],
        ["mine", "--samples", ","],
        ["mine", "--json", "/there/is/no/folder/mine.json"],
        [],
    ],
)
def test_options_that_make_no_sense(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_a_class_with_a_sample_that_is_none_is_refused():
    """It would pass without a check."""
    with pytest.raises(ValueError, match=r"no samples \['gem'\]"):
        type("Checked", (Conformance,), {"samples": ("gem",)})


def test_a_target_that_is_not_installed_refuses_no_sample(capsys):
    assert main(["abacus", "--level", "emit", "--samples", "scan"]) == 1
    out = capsys.readouterr().out
    assert "failed       emit: samples are emitted or refused by name: scan" in out


def test_a_target_that_is_not_installed_fails_at_its_first_level(capsys):
    assert main(["abacus", "--level", "manifest"]) == 1
    out = capsys.readouterr().out
    assert "no plugin 'abacus' in the group tile.targets" in out


def test_every_check_of_a_target_has_a_level():
    methods = {n for n in vars(TargetConformance) if n.startswith("test_")}
    assert methods == set(TargetConformance.checks)
    assert set(TargetConformance.checks.values()) == set(TargetConformance.levels)
