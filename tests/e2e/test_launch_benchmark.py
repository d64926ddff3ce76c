"""The benchmark of launches calls what it says it calls; what it measures is for quiet machines."""

import ast
import sys
from pathlib import Path

import pytest

from tile_ir.testing.by_path import module_at

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def launch(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    made = module_at(FOLDER / "launch.py")
    monkeypatch.setattr(sys.modules["host_time"], "ROUNDS", 1)
    monkeypatch.setattr(made, "QUEUED", 1)
    return made


def test_rows(launch, tmp_path):
    found = list(launch.rows("cpu", "numpy", "10 tensors", tmp_path))
    assert [(r.name, r.peer_name, round(1 / r.bar, 2) if r.bar else None) for r in found] == [
        ("cpu: 10 tensors: checked", "by hand", 1.5),
        ("cpu: 10 tensors: bound", "raw", 1.1),
        ("cpu: 10 tensors: checked", "raw", None),
    ]
    assert all(r.ours > 0 and r.peer > 0 for r in found)


def test_rows_of_torch(launch, tmp_path):
    """A check takes about as long as reading the addresses does, so it is compared with a check."""
    pytest.importorskip("torch", reason="tensors of torch")
    found = list(launch.rows("cpu", "torch", "3 tensors", tmp_path))
    assert [(r.name, r.peer_name, round(1 / r.bar, 2) if r.bar else None) for r in found] == [
        ("cpu: 3 tensors: checked", "checked by hand", 1.1),
        ("cpu: 3 tensors: bound", "raw", 1.1),
        ("cpu: 3 tensors: checked", "by hand", None),
        ("cpu: 3 tensors: checked", "raw", None),
    ]


def test_ways_that_compute_something_else_are_found(launch, tmp_path):
    tensors = launch.tensors_of("cpu", "numpy", 3)
    with pytest.raises(SystemExit, match="nothing: wrong values"):
        launch.check({"nothing": lambda: None}, tensors)


def test_texts_of_the_peers(launch):
    triton = ast.parse(launch.written(launch.TRITON, 3)).body[-1]
    assert [a.arg for a in triton.args.args] == ["x0", "x1", "x2", "LENGTH"]
    assert "tl.store(x2 + at, tl.load(x0 + at) + tl.load(x1 + at))" in ast.unparse(triton)
    text = launch.written(launch.CUPY, 3)
    assert "add_all(float *x0, float *x1, float *x2) {" in text
    assert "x2[i] = x0[i] + x1[i];" in text
