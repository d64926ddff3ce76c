"""`tile tune`: what it searches, keeps, writes and lists."""

import json

import pytest

from tile_frontend import cli
from tile_tune.cli import _autotuned, _choice, add
from tile_tune.tables import Table

KERNELS = """
import tile_frontend as tile
import tile_frontend.language as T

@tile.autotune(configs={"step": [2, 4, 8]}, searcher="exhaustive", trials=3)
@tile.jit(target="cpu")
def doubled(A, step=2):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    with T.Kernel(N // step) as b:
        for i in T.Parallel(step):
            A[b * step + i] = A[b * step + i] * 2
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_TUNE_DATABASE", str(tmp_path / "tuned.sqlite"))
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def options(*words):
    import argparse

    parser = argparse.ArgumentParser()
    add(parser)
    return parser.parse_args([str(w) for w in words])


def test_the_space_and_the_search_are_those_of_the_kernel_unless_said(file):
    place = f"{file}:doubled"
    own = _autotuned(options(place))
    assert own.configs == {"step": [2, 4, 8]}
    assert own.options == {"searcher": "exhaustive", "trials": 3}
    other = _autotuned(options(place, "--choice", "step=4,8", "--trials", "1", "--json"))
    assert other.configs == {"step": [4, 8]}
    assert other.options == {"searcher": "exhaustive", "trials": 1, "progress": "silent"}
    assert _choice("dtype=float16,float32") == ("dtype", ["float16", "float32"])


def test_a_choice_is_kept_written_and_listed(file, capsys):
    table = file.parent / "table.yaml"
    words = ["tune", f"{file}:doubled", "N=64", "--choice", "step=8", "--table", str(table)]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kernel"], found["parameters"]) == ("doubled", {"step": 8})
    assert found["trials"] == {"measured": 1}
    assert found["code"] == "doubled(N=64, step=8)"
    (record,) = Table.load(table).records
    assert record.configuration.arguments == {"step": 8}
    assert cli.main(["tune", "--json"]) == 0
    (known,) = json.loads(capsys.readouterr().out)
    assert known == {n: found[n] for n in known}
    assert cli.main(["tune"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 choices known"


def test_what_is_refused(file, capsys):
    assert cli.main(["tune", f"{file}:doubled", "N=64", "--choice", "other=8"]) == 3
    assert "error[E2201]: doubled has no parameter 'other'" in capsys.readouterr().err
    assert cli.main(["tune", f"{file}:doubled", "N=64", "--choice", "step"]) == 2
    assert "error[E2602]" in capsys.readouterr().err
