"""The benchmark of the examples on the CPU compares what computes the same, and says which way of
torch's was the fastest; what it measures is for quiet machines."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
torch = pytest.importorskip("torch", reason="what the examples are compared with")


@pytest.fixture
def cookbook(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    made = import_module("cpu_cookbook")
    monkeypatch.setattr(made, "medians", lambda run, **_: [3.0, 2.0, 4.0, 1.0][: len(run)])
    monkeypatch.setattr(made, "SAMPLE_S", 0.0)
    return made


def test_the_fastest_way_is_the_peer_and_rough_ones_are_only_shown(cookbook):
    x = torch.arange(4.0)
    pair = cookbook.Pair(
        ours=lambda: x, peers={"one": x.clone, "other": x.clone}, rough={"rough": x.clone}
    )
    rows = list(cookbook.rows_of({"case": lambda: pair}, 2, ""))
    assert [(r.name, r.peer_name, r.ratio, r.bar) for r in rows] == [
        ("case, 2 threads", "torch one", pytest.approx(2 / 3), 1.0),
        ("case, 2 threads", "torch rough", pytest.approx(1 / 3), 0.0),
    ]


def test_other_values_and_shapes_are_found(cookbook):
    x = torch.arange(4.0)
    pair = cookbook.Pair(ours=lambda: x, peers={"way": lambda: x + 1})
    with pytest.raises(SystemExit, match="case: output 0 is 1 off torch way"):
        cookbook.check("case", pair)
    with pytest.raises(SystemExit, match="1 outputs, torch way has 2"):
        cookbook.check("case", replace(pair, peers={"way": lambda: (x, x)}))
    cookbook.check("case", replace(pair, near=1.0))


@pytest.mark.parametrize(
    ("file", "table", "name"),
    [
        ("cpu_rows", "ROWS", "moe_routing place 16384 of 64"),
        ("cpu_attention", "ATTENTION", "gated_delta 1x8x1024x64 f32"),
        ("cpu_products", "PRODUCTS", "gemm_sparse 512x256x1024 bf16"),
    ],
)
def test_an_example_agrees_with_torch(cookbook, file, table, name):
    torch.manual_seed(0)
    cookbook.check(name, getattr(import_module(file), table)[name]())
