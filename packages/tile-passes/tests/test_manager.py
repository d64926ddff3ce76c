"""The manager blames the pass that broke a program and leaves what it takes to see it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tile_ir.diag import InternalError, TileError
from tile_ir.ops import Break
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.base import Pass, PassContext, State
from tile_passes.cli import main, optimize
from tile_passes.manager import Check, run_pipeline
from tile_passes.pipeline import Pipeline
from tile_passes.plan.model import Candidate, Decision, Plan

if TYPE_CHECKING:
    from tile_ir.core import Function

TEXT = """tile.ir 1.0 tile
func @f(C: global f32[16]) {
  kernel @f {
    tiles (bx) in (16) {
      store C[bx] = 1.0
    }
  }
}
"""
CX = PassContext(target=toy_spec("sync"))


def run(*passes: Pass, verify_each: bool = True) -> State:
    state = State(function=parse_function(TEXT))
    return run_pipeline(Pipeline().extended(*passes), state, CX, verify_each=verify_each).state


def rewrite(name: str, change: object) -> Pass:
    return Pass(name=name, phase="legalize", rewrite=lambda fn, cx, plan: change(fn))  # type: ignore[operator]  # a callable


def test_a_pass_that_breaks_the_program_is_named_with_a_reproducer() -> None:
    def broken(fn: Function) -> Function:
        return replace(fn, body=(*fn.body, Break()))

    with pytest.raises(InternalError, match="E9002") as caught:
        run(rewrite("good", lambda fn: fn), rewrite("bad", broken))
    assert "pass 'bad'" in caught.value.message
    assert caught.value.reproducer is not None
    text = Path(caught.value.reproducer).read_text(encoding="utf-8")
    assert text.startswith("// RUN: tile-opt %s -p 'bad'\n")
    assert parse_function(text.split("\n", 1)[1]) == parse_function(TEXT)
    Path(caught.value.reproducer).unlink()


def test_a_pass_that_crashes_is_ours_and_a_refusal_is_the_users() -> None:
    def crash(fn: Function) -> Function:
        raise KeyError("gone")

    def refuse(fn: Function) -> Function:
        raise TileError("E0611", "no")

    with pytest.raises(InternalError, match="KeyError") as caught:
        run(rewrite("crash", crash))
    Path(str(caught.value.reproducer)).unlink()
    with pytest.raises(TileError) as refused:
        run(rewrite("refuse", refuse))
    assert refused.value.code == "E0611"


def test_timings_say_which_pass_changed_the_program() -> None:
    state = State(function=parse_function(TEXT))
    renamed = rewrite("rename", lambda fn: replace(fn, name="g"))
    seen: list[str] = []
    outcome = run_pipeline(
        Pipeline().extended(rewrite("same", lambda fn: fn), renamed),
        state,
        CX,
        observer=lambda step, before, after: seen.append(step.run.name),
    )
    assert [(t.name, t.changed) for t in outcome.timings] == [("same", False), ("rename", True)]
    assert all(t.seconds >= 0 for t in outcome.timings)
    assert seen == ["same", "rename"]
    assert outcome.state.function.name == "g"


def test_a_plan_pass_writes_decisions_only() -> None:
    choice = Decision(key="f.tiles.order", value="rows", candidates=(Candidate("cols", 2.0, "x"),))
    plan = Pass(name="choose", phase="plan", plan=lambda fn, cx, plan: plan.decide(choice))
    state = run(plan)
    assert state.plan.find("f.tiles.order") is choice
    assert state.plan.value("f.tiles.order", "") == "rows"
    assert state.plan.value("absent", 3) == 3
    again = Decision(key="f.tiles.order", value="cols", by="user")
    assert list(Plan((choice,)).decide(again)) == [again]


def test_tile_opt_prints_the_result_and_reports_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.tir"
    file.write_text(TEXT.replace("bx] = 1.0", "bx] = 1.0 clip"), encoding="utf-8")
    assert main([str(file), "-p", "bounds", "--print-after-all", "--timing"]) == 0
    out, err = capsys.readouterr()
    assert "store C[bx] = 1.0\n" in out
    assert "// after bounds" in err
    assert "ms  bounds" in err
    assert main([str(file), "-p", "nope"]) == 3
    assert "E0602" in capsys.readouterr().err
    assert main([str(tmp_path / "absent.tir")]) == 2
    assert optimize(file.read_text(), "bounds") == out.removesuffix("\n")


def test_tile_opt_lists_every_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-", "--list"]) == 0
    out = capsys.readouterr().out
    assert "bounds               legalize" in out


def test_checks_put_off_see_the_program_of_their_place() -> None:
    seen: list[str] = []
    state = State(function=parse_function(TEXT))
    check = Pass(name="look", phase="legalize", check=lambda fn, cx, plan: seen.append(fn.name))
    renamed = rewrite("rename", lambda fn: replace(fn, name="g"))
    later: list[Check] = []
    pipeline = Pipeline().extended(check, renamed)
    after = run_pipeline(pipeline, state, CX, later=later).state
    assert (after.function.name, seen, len(later)) == ("g", [], 1)
    later[0]()
    assert seen == ["f"]


def test_a_check_put_off_fails_as_it_would_have_in_its_place() -> None:
    def crash(fn: Function, cx: PassContext, plan: Plan) -> None:
        raise ZeroDivisionError("no")

    later: list[Check] = []
    pipeline = Pipeline().extended(Pass(name="look", phase="legalize", check=crash))
    run_pipeline(pipeline, State(function=parse_function(TEXT)), CX, later=later)
    with pytest.raises(InternalError, match="pass 'look' failed: ZeroDivisionError: no") as caught:
        later[0]()
    assert caught.value.reproducer is not None
    Path(caught.value.reproducer).unlink()
