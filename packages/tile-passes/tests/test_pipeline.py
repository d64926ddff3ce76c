"""Pipelines as text, their edits, and where a manifest's pass is put."""

from __future__ import annotations

import dataclasses

import pytest

from tile_ir.diag import TileError
from tile_ir.plugin import PassManifest, TargetManifest, discover, load, resolve
from tile_passes.base import Pass
from tile_passes.default import LEGALIZE, default_pipeline
from tile_passes.pipeline import Pipeline, parse_pipeline
from tile_passes.registry import BUILTIN, builtin, place


def nothing(name: str, phase: str = "legalize") -> Pass:
    return Pass(name=name, phase=phase, rewrite=lambda fn, cx, plan: fn)


A, B, C = nothing("a"), nothing("b"), nothing("c", "lower")
THREE = Pipeline().extended(A, B, C)
KNOWN = {p.name: p for p in (A, B, C)}


def test_text_round_trips_with_options_and_without_labels() -> None:
    text = "legalize: a{deep=true, rounds=2, rate=0.5, name=x}, b; lower: c"
    made = parse_pipeline(text, KNOWN)
    assert str(made) == text
    assert made.steps[0].options == (("deep", True), ("rounds", 2), ("rate", 0.5), ("name", "x"))
    assert parse_pipeline("a, b, c", KNOWN) == THREE
    assert str(parse_pipeline("", KNOWN)) == ""


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [("a b", "E0601", "'a b'"), ("a, nope", "E0602", "'nope'"), ("legalize: a,, b", "E0601", "b")],
)
def test_malformed_text_is_a_coded_error(text: str, code: str, says: str) -> None:
    with pytest.raises(TileError, match="E060") as caught:
        parse_pipeline(text, KNOWN)
    assert caught.value.code == code
    assert says in caught.value.message


def test_edits_keep_the_phases_in_order() -> None:
    new = nothing("new")
    assert THREE.before("b", new).names == ("a", "new", "b", "c")
    assert THREE.after("b", new).names == ("a", "b", "new", "c")
    assert THREE.replaced("b", new).names == ("a", "new", "c")
    assert THREE.without("b").names == ("a", "c")
    assert THREE.until("b").names == ("a", "b")
    assert THREE.extended(new).names == ("a", "b", "new", "c")
    with pytest.raises(TileError) as caught:
        THREE.after("c", new)
    assert caught.value.code == "E0603"
    with pytest.raises(TileError) as caught:
        THREE.before("nope", new)
    assert caught.value.code == "E0602"


def manifest(**where: tuple[str, ...]) -> PassManifest:
    return PassManifest(name="new", factory=lambda: nothing("new"), phase="legalize", **where)  # type: ignore[arg-type]  # tuples only


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ({}, ("a", "b", "new", "c")),
        ({"before": ("b",)}, ("a", "new", "b", "c")),
        ({"after": ("a",)}, ("a", "new", "b", "c")),
        ({"after": ("a",), "before": ("c",)}, ("a", "b", "new", "c")),
        ({"before": ("not-there",)}, ("a", "b", "new", "c")),
    ],
)
def test_a_manifest_says_where_its_pass_stands(
    where: dict[str, tuple[str, ...]], names: tuple[str, ...]
) -> None:
    assert place(THREE, manifest(**where)).names == names


def test_a_manifest_that_cannot_be_placed_is_an_error() -> None:
    with pytest.raises(TileError) as caught:
        place(THREE, manifest(after=("b",), before=("a",)))
    assert caught.value.code == "E0604"
    assert "after b and before a" in caught.value.message


FIRST = Pass(name="first", phase="legalize", rewrite=A.rewrite, ensures=("sorted",))
NEEDY = Pass(name="new", phase="legalize", rewrite=A.rewrite, requires=("sorted",))


def test_what_a_pass_requires_is_ensured_before_it() -> None:
    assert Pipeline().extended(FIRST, NEEDY).unmet() == ()
    assert Pipeline().extended(NEEDY, FIRST).unmet() == (("new", "sorted"),)


@pytest.mark.parametrize("target", ["cpu", "cuda", "rocm", "metal"])
def test_pipelines_of_targets_keep_the_contracts_of_their_passes(target: str) -> None:
    installed = {entry.name for entry in discover("tile.targets")}
    if target not in installed:
        pytest.skip(f"tile-{target} is not installed")
    found = load("tile.targets", target)
    assert isinstance(found, TargetManifest)
    made: Pipeline = resolve(found.pipeline)(None)
    assert any(step.run.requires for step in made.steps)
    assert made.unmet() == ()


def test_a_plugins_pass_stands_behind_what_it_requires() -> None:
    pipeline = Pipeline().extended(FIRST, A)
    needy = dataclasses.replace(manifest(after=("first",)), factory=lambda: NEEDY)
    assert place(pipeline, needy).names == ("first", "new", "a")
    with pytest.raises(TileError, match="requires 'sorted'") as caught:
        place(pipeline, dataclasses.replace(needy, after=(), before=("first",)))
    assert caught.value.code == "E0604"


def test_the_default_pipeline_is_the_legalize_phase_of_known_passes() -> None:
    assert default_pipeline().names == LEGALIZE
    assert set(LEGALIZE) <= set(BUILTIN)
    assert {builtin(n).phase for n in LEGALIZE} == {"legalize"}
    assert parse_pipeline(str(default_pipeline()), {n: builtin(n) for n in BUILTIN}).names == (
        LEGALIZE
    )
