"""A number says all of a program, every kind of wrong is told, files say all of a case, programs
that are built together are told apart.
"""

import dataclasses
import json
from collections import Counter

import pytest

from tile_frontend import cli
from tile_ir.diag import TileError
from tile_ir.ops import Alloc
from tile_ir.rewrite import map_stmts, walk, with_body
from tile_ir.text import parse_function, print_function
from tile_ir.verify import verify
from tile_passes.fuzz import cases, checks, chunks, session
from tile_passes.fuzz.built import built_changes, merged
from tile_passes.fuzz.cases import drawn, every_target, pipeline_of
from tile_passes.fuzz.checks import Finding, first_change
from tile_passes.fuzz.corpus import read_cases, text_of_case
from tile_passes.fuzz.pipelines import OPTIONAL
from tile_passes.fuzz.reduction import iterations_meet
from tile_passes.fuzz.reports import Options, Report, read_report, write_report
from tile_passes.fuzz.session import fuzz
from tile_passes.pipeline import Pipeline, Step

CPU = "cpu -arch=x86-64-v3"


def broken(monkeypatch, name, rewrite):
    """Every pipeline with another rewrite in the place of the pass's own."""
    right = cases.pipeline_of

    def pipeline(target):
        steps = (
            Step(dataclasses.replace(s.run, rewrite=rewrite)) if s.run.name == name else s
            for s in right(target).steps
        )
        return Pipeline(tuple(steps))

    monkeypatch.setattr(cases, "pipeline_of", pipeline)


def test_a_number_says_all_of_a_program():
    first, second = (drawn(11, every_target()) for _ in range(2))
    assert first == second
    assert len({case.target.split()[0] for case in first}) == len(first) >= 4
    others = [drawn(seed, (CPU,))[0] for seed in range(8)]
    assert len({print_function(c.function) for c in others}) == 8


def test_pipelines_lack_only_what_they_may():
    thin = [drawn(seed, (CPU,))[0].pipeline for seed in range(12)]
    whole = pipeline_of(CPU).names
    assert any(p.names != whole for p in thin)
    for pipeline in thin:
        assert set(whole) - set(pipeline.names) <= OPTIONAL
        kept = [n for n in pipeline.names if n not in OPTIONAL]
        assert kept == [n for n in whole if n not in OPTIONAL]


def test_right_passes_are_found_right():
    report = fuzz(Options(count=4, seed=1, targets=(CPU,), build=False))
    assert (report.programs, report.cases, report.mistakes) == (4, 4, [])


def test_an_oracle_that_fails_is_a_mistake_like_others(monkeypatch):
    def fails(_):
        raise OverflowError("too large")

    monkeypatch.setattr(checks, "oracle", fails)
    (mistake,) = fuzz(Options(count=1, seed=1, targets=(CPU,), build=False)).mistakes
    assert (mistake.kind, mistake.where) == ("crash", "oracle")
    assert mistake.message == "OverflowError: too large"
    (case, *_) = drawn(1, (CPU,), thin=False)
    assert print_function(case.function) in mistake.text


def test_a_session_is_gone_on_with(tmp_path, monkeypatch):
    kept, asked = tmp_path / "report.json", Options(count=3, seed=1, targets=(CPU,), build=False)
    monkeypatch.setattr(session, "CHUNK", 1)
    monkeypatch.setattr(chunks, "CHUNK", 1)
    half = dataclasses.replace(asked, count=2)
    write_report(kept, fuzz(half), half)
    done = read_report(kept, asked)
    assert (done.programs, done.cases) == (2, 2)
    tried = []
    whole = fuzz(asked, lambda r: tried.append(r.programs), done)
    assert (tried, whole.programs, whole.cases) == ([3], 3, 3)
    with pytest.raises(TileError, match="seed was 1") as caught:
        read_report(kept, dataclasses.replace(asked, seed=2))
    assert caught.value.code == "E2605"
    kept.write_text("[]")
    with pytest.raises(TileError, match="cannot go on"):
        read_report(kept, asked)
    assert read_report(tmp_path / "none.json", asked) == Report()


def test_a_kept_report_has_its_counts(tmp_path):
    kept, asked = tmp_path / "report.json", Options(count=3, seed=1, targets=(CPU,))
    built = Counter({CPU: 2, "other in emulator": 1})
    report = Report(programs=3, cases=9, built=built, refused=Counter({"E0702": 4}), seconds=0.5)
    write_report(kept, report, asked)
    assert read_report(kept, asked) == report


class InTurn:
    """A pool whose futures are done when their results are asked for."""

    def __init__(self, jobs, mp_context):
        self.begun = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, work, first):
        self.begun.append(first)
        return InTurn.Later(work, first)

    class Later:
        def __init__(self, work, first):
            self.result = lambda: work(first)
            self.cancel = lambda: True


def test_reports_come_in_the_order_of_the_numbers(monkeypatch):
    monkeypatch.setattr(session, "ProcessPoolExecutor", InTurn)
    parts = session._parts(
        lambda first: Report(programs=first), range(20), Options(count=20, jobs=2), 0.0
    )
    assert [p.programs for p in parts] == list(range(20))


def test_a_device_at_hand_runs_a_share(monkeypatch):
    (case,) = drawn(10, ("cuda -arch=sm_80",), thin=False)
    waiting = {}
    monkeypatch.setattr(chunks, "at_hand", lambda name: "sm_80")
    chunks._put(waiting, case)
    chunks._put(waiting, dataclasses.replace(case, seed=11))
    assert {k: [c.seed for c in v] for k, v in waiting.items()} == {
        ("cuda -arch=sm_80", None): [10]
    }
    assert cases.at_hand("metal") is None


def test_no_time_is_no_program():
    assert fuzz(Options(count=4, targets=(CPU,), seconds=0.0)).programs == 0


def crash(fn, cx, plan):
    raise IndexError("off by one")


def without_allocs(fn, cx, plan):
    return with_body(fn, map_stmts(fn.body, lambda s: () if isinstance(s, Alloc) else None))


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [(crash, "crash", "IndexError: off by one"), (without_allocs, "invalid", "E04")],
)
def test_kinds_of_wrong(monkeypatch, wrong, kind, says):
    broken(monkeypatch, "simplify", wrong)
    (case,) = drawn(3, (CPU,), thin=False)
    found = first_change(case).finding
    assert (found.kind, found.where) == (kind, "simplify")
    assert says in found.message
    (mistake,) = fuzz(Options(count=1, seed=3, targets=(CPU,), thin=False, build=False)).mistakes
    assert mistake.lines < 15


def test_a_file_says_all_of_a_case(tmp_path):
    (case,) = (c for c in drawn(5, (CPU,)))
    finding = Finding(kind="meaning", where="simplify", position=3, message="differs\nmuch")
    path = tmp_path / "case.tir"
    path.write_text(text_of_case(case, finding, "emulator"))
    ((again, device),) = read_cases(path)
    assert device == "emulator"
    assert again.function == case.function
    assert (again.seed, again.dims, again.target) == (case.seed, case.dims, case.target)
    assert again.tolerance == dict(case.tolerance)
    assert again.pipeline.names == case.pipeline.names


def test_programs_that_are_built_together_are_told_apart():
    some = [drawn(seed, ("cpu",), thin=False)[0] for seed in (1, 2)]
    whole = merged(some)
    assert verify(whole) == ()
    assert sum(1 for _ in walk(whole.body)) == sum(
        1 for case in some for _ in walk(case.function.body)
    )
    strict = dataclasses.replace(some[1], tolerance=dict.fromkeys(some[1].tolerance, -1.0))
    right, wrong = built_changes([some[0], strict])
    assert right is None
    assert (wrong.kind, wrong.where) == ("built", "run")


def test_the_command(tmp_path, monkeypatch, capsys):
    broken(monkeypatch, "simplify", crash)
    folder = tmp_path / "corpus"
    command = ["fuzz", "--count", "1", "--seed", "3", "--target", CPU, "--no-build", "--jobs", "1"]
    assert cli.main([*command, "--corpus", str(folder)]) == 1
    assert "crash after simplify" in capsys.readouterr().out
    monkeypatch.undo()
    report = tmp_path / "report.json"
    assert cli.main([*command, "--resume", str(report)]) == 0
    assert json.loads(report.read_text())["report"]["programs"] == 1
    assert cli.main([*command, "--resume", str(report)]) == 0
    capsys.readouterr()
    assert cli.main(["fuzz", "--replay", *map(str, folder.iterdir())]) == 0
    assert capsys.readouterr().out.endswith("right\n")


@pytest.mark.parametrize(
    ("value", "meet"), [("f[1]", True), ("f[i + 1]", True), ("f[i]", False), ("g[1]", False)]
)
def test_programs_are_not_reduced_to_iterations_that_meet(value, meet):
    fn = parse_function(f"""tile.ir 1.0 tile
func @f() {{
  kernel @f {{
    tiles (bx) in (1) {{
      alloc f: fragment f32[4]
      alloc g: fragment f32[4]
      parallel (i) in (3) {{
        store f[i] = {value} + 1.0
      }}
    }}
  }}
}}
""")
    assert iterations_meet(fn) is meet
