"""Every version of the IR that was frozen is read as it was written: its programs parse, verify and
mean what they meant, its Plan's keys are still decided, its vocabulary is still there, and nobody
edited a file of it."""

import json
from pathlib import Path

import numpy as np
import pytest

from tile_ir.core import Module, Stage
from tile_ir.interp import run
from tile_ir.numerics.array import to_numpy_dtype
from tile_ir.opdef import OPS, opdef
from tile_ir.rewrite import walk
from tile_ir.schema import SCHEMA_VERSION
from tile_ir.testing.by_path import module_at
from tile_ir.testing.compare import assert_close
from tile_ir.testing.stability import broken_promises
from tile_ir.text import parse_module, print_module
from tile_ir.verify import verify

HERE = Path(__file__).parent
VERSIONS = sorted(p for p in HERE.iterdir() if (p / "CHECKSUMS").exists())
PROGRAMS = [path for folder in VERSIONS for path in sorted(folder.glob("*.tir"))]
PLANS = [path for folder in VERSIONS for path in sorted(folder.glob("*.keys"))]


def label(path):
    return f"{path.parent.name}-{path.stem}"


def read(path):
    (function,) = parse_module(path.read_text("utf-8"), str(path)).functions
    return function


def from_bits(bits, dt):
    """An array of a file as the container of its type."""
    return bits.view(to_numpy_dtype(dt))


def arguments(function, kept):
    """What a program was run with."""
    types = {p.buffer.name: p.buffer.dtype for p in function.params if p.buffer is not None}
    given = {n[3:]: kept[n] for n in kept.files if n.startswith("in.")}
    return {n: from_bits(v, types[n]) if n in types else v.item() for n, v in given.items()}


def test_there_is_a_corpus():
    assert next(p.name for p in VERSIONS) == "1.0"
    assert len(PROGRAMS) >= 40
    assert len(PLANS) >= 6


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda p: p.name)
def test_nobody_edited_what_was_frozen(folder):
    made = module_at(HERE / "freeze.py").checksums(folder)
    assert made == (folder / "CHECKSUMS").read_text("utf-8"), (
        "files of a frozen version are never edited: put them back, and if the IR has to change, "
        "let its reader bring old texts up to date (docs/stability.md)"
    )


@pytest.mark.parametrize("path", PROGRAMS, ids=label)
def test_a_frozen_program_means_what_it_meant(path):
    function = read(path)
    assert verify(function) == ()
    module = Module(functions=(function,))
    assert parse_module(print_module(module)) == module
    with np.load(path.with_suffix(".npz")) as kept:
        got = run(function, arguments(function, kept), lines=[])
        assert {f"out.{n}" for n in got} == {n for n in kept.files if n.startswith("out.")}
        types = {p.buffer.name: p.buffer.dtype for p in function.params if p.buffer is not None}
        for name, array in got.items():
            want = from_bits(kept[f"out.{name}"], types[name])
            assert_close(array, want, what=f"{path.stem} {name}")


@pytest.mark.parametrize("path", PROGRAMS, ids=label)
def test_a_text_names_the_first_version_that_has_all_it_uses(path):
    again = print_module(Module(functions=(read(path),)))
    said = tuple(map(int, again.split()[1].split(".")))
    frozen = tuple(map(int, path.read_text("utf-8").split()[1].split(".")))
    assert said == frozen <= SCHEMA_VERSION


@pytest.mark.parametrize("path", PLANS, ids=label)
def test_the_keys_of_a_plan_are_still_decided(path):
    made = module_at(HERE / "freeze.py")
    function = read(path.with_suffix(".tir"))
    for line in path.read_text("utf-8").splitlines():
        target, _, keys = line.partition(": ")
        gone = sorted(set(keys.split()) - set(made.keys(function, target)))
        assert gone == [], f"{target}: a pin of these would no longer be heard"


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda p: p.name)
def test_the_vocabulary_is_still_there(folder):
    old = json.loads((folder / "schema.json").read_text("utf-8"))
    assert broken_promises(old) == []


def test_the_corpus_uses_every_op_of_the_stage():
    used = {opdef(s).name for path in PROGRAMS for s in walk(read(path).body)}
    wanted = {
        op.name
        for op in OPS.values()
        if Stage.TILE in op.stages
        and op.since == (1, 0)
        and op.cls.__module__.startswith("tile_ir.")
    }
    assert wanted - used == set()
