"""The calibration of the performance model knows every measured row of ours, and a row that it
compares is one that was measured."""

import json
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def calibrate():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield import_module("calibrate")


def measured(calibrate):
    names = {}
    for file in calibrate.FILES:
        for row in json.loads((FOLDER / "results" / file).read_text("utf-8"))["rows"]:
            if row["unit"] != "x" and row["ours"]:
                names[row["name"].split(" vs ")[0].split(" at least ")[0]] = row
    return names


def test_every_measured_kernel_is_compared(calibrate):
    found = {row.name: row for row in calibrate.rows(calibrate.FILES, "")}
    wanted = measured(calibrate)
    assert sorted(set(wanted) - set(found)) == []
    assert len(found) >= 100
    assert all(1e-6 < row.seconds < 0.1 for row in found.values())


@pytest.mark.parametrize(
    ("name", "microseconds"),
    [("gemm f16 NN 2048x2048x2048", 27.42), ("skinny f16 NN 16x4096x4096", 10.36)],
)
def test_seconds_follow_from_the_rate_that_was_measured(calibrate, name, microseconds):
    row = measured(calibrate)[name]
    work = 2 * 2048**3 if name.startswith("gemm") else 2 * (16 * 4096 * 2 + 4096**2)
    scale = 1e12 if row["unit"] == "TFLOP/s" else 1e9
    (found,) = calibrate.rows(calibrate.FILES, name)
    assert found.seconds == pytest.approx(work / (row["ours"] * scale))
    assert found.seconds * 1e6 == pytest.approx(microseconds, rel=0.5)


def test_a_row_is_near(calibrate, cache_of_the_session):
    (row,) = calibrate.rows(calibrate.FILES, "gemm f16 NN 2048x2048x2048")
    found = calibrate.compared(row)
    assert found.failure == ""
    assert found.near
    assert found.bound == "matrix units"
    assert "1 of 1 within 20%: 100.0%" in calibrate.table([found])


def test_what_cannot_be_built_is_far_off(calibrate):
    row = calibrate.Row("nothing", ("no_such_kernel", (), {}), 1e-5, "graph")
    found = calibrate.compared(row)
    assert not found.near
    assert found.failure
    assert calibrate.verdict([found]) == "0 of 1 within 20%: 0.0%"
