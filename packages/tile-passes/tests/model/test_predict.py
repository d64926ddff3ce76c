"""Predictions: what is counted, what overlaps, what bounds, on invented machines."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.decisions import Plan
from tile_passes.model import chrome_trace, gap, predict, timeline_svg
from tile_passes.model.timeline import overlap

LARGE = {"M": 4096, "N": 4096, "K": 4096}


@pytest.fixture(scope="module")
def product(programs):
    made = programs.planned(programs.tile("gemm", stages=4, n=256), "async")
    return predict(made.after, made.plan, toy_spec("async"), dims=LARGE)


@pytest.fixture(scope="module")
def launch(product):
    (found,) = product.kernels
    return found


def test_a_product_takes_what_the_matrix_units_take(launch):
    rates = toy_spec("async").rates
    atoms = toy_spec("async").atoms("f16", "f16", "f32")
    seconds = 2 * 4096**3 / (atoms[0].rate * rates.cores * rates.clock_hz)
    assert launch.flops == 2 * 4096**3
    assert launch.peak_flops == atoms[0].rate * rates.cores * rates.clock_hz
    assert launch.term("matrix units").seconds == pytest.approx(seconds, rel=0.12)
    assert launch.seconds > seconds


def test_terms_are_parts_of_the_time(launch):
    assert all(0 <= t.seconds <= launch.seconds for t in launch.terms)
    assert launch.bound in {t.name for t in launch.terms} | {"latency"}
    assert launch.term("launch").seconds == toy_spec("async").rates.launch_seconds


def test_tiles_and_bytes_are_counted(launch):
    assert launch.tiles == (4096 // 64) * (4096 // 256)
    inputs, output = 2 * 2 * 4096**2, 4 * 4096**2
    assert launch.device_bytes >= 0.99 * (inputs + output)
    assert launch.term("shared cache").seconds > 0


def test_producer_and_consumers_overlap(launch):
    lanes = {s.lane for s in launch.spans}
    assert "producer" in lanes
    assert any(lane.startswith("compute") for lane in lanes)
    matrix = sum(s.end - s.start for s in launch.spans if s.kind == "matrix")
    assert overlap(launch.spans, "copy", "matrix") > 0.5 * matrix


def test_fewer_stages_expose_latency(programs):
    spec, found = toy_spec("async"), []
    for stages in (1, 4):
        made = programs.planned(programs.tile("gemm", stages=stages, n=64), "async")
        found.append(predict(made.after, made.plan, spec, dims=LARGE).kernels[0])
    assert found[0].seconds > 1.3 * found[1].seconds
    assert found[0].term("exposed latency").seconds > found[1].term("exposed latency").seconds


def test_a_last_wave_costs_a_whole_one(programs):
    spec = toy_spec("async")
    made = programs.planned(programs.tile("gemm", stages=3, n=64), "async")
    cores = spec.rates.cores

    def time(tiles):
        found = predict(made.after, made.plan, spec, dims={**LARGE, "M": 64, "N": 64 * tiles})
        return found.kernels[0]

    per_core = time(1).blocks_per_core
    full, more = time(cores * per_core), time(cores * per_core + 1)
    assert full.term("last wave").seconds == pytest.approx(0.0, abs=1e-12)
    assert more.term("last wave").seconds > 0
    assert more.seconds > full.seconds


def test_half_of_the_memory_bandwidth_shows_where_memory_bounds():
    text = """tile.ir 1.0 tile
func @copy(X: global f32[N], Y: global f32[N]) dims (N) {
  kernel @copy threads = (128) {
    tiles (b) in (ceildiv(N, 4096)) {
      alloc x: fragment f32[4096]
      copy X[b * 4096 : +4096] -> x[:]
      copy x[:] -> Y[b * 4096 : +4096]
    }
  }
}
"""
    fn, spec = parse_function(text), toy_spec("plain")
    half = replace(spec, rates=replace(spec.rates, device_bytes=spec.rates.device_bytes / 2))
    fits = {"copy": (8, "threads")}
    fast, slow = (predict(fn, Plan(), s, dims={"N": 1 << 28}, occupancy=fits) for s in (spec, half))
    assert fast.kernels[0].bound == "device memory"
    assert slow.seconds / fast.seconds == pytest.approx(2.0, rel=0.1)
    assert fast.kernels[0].device_bytes == 2 * 4 * (1 << 28)


def test_power_makes_long_products_slower(programs):
    spec = toy_spec("async")
    made = programs.planned(programs.tile("gemm", stages=4, n=256), "async")
    hot = replace(spec, rates=replace(spec.rates, sustained=0.5, sustained_seconds=1e-4))
    times = [
        [
            predict(made.after, made.plan, s, dims=dict.fromkeys("MNK", n)).seconds
            for s in (spec, hot)
        ]
        for n in (512, 8192)
    ]
    short, long = (b / a for a, b in times)
    assert 1.0 <= short < 1.1
    assert 1.15 < long < 2.05, "memory keeps its pace, so that not all of it is twice as slow"


def test_unknown_dimensions_are_assumed_and_told(programs):
    made = programs.planned(programs.tile("gemm"), "sync")
    found = predict(made.after, made.plan, toy_spec("sync"))
    assert found.assumed == ("M = 4096", "N = 4096", "K = 4096")
    assert "assumed: M = 4096" in found.table()


@pytest.mark.parametrize("arch", ["async", "sync", "plain"])
@pytest.mark.parametrize("name", ["gemm", "attention"])
def test_every_program_on_every_machine_comes_to_its_end(programs, name, arch):
    made = programs.planned(programs.tile(name), arch)
    found = predict(made.after, made.plan, toy_spec(arch), dims={"K": 512, "S": 512})
    assert all(k.complete and k.seconds > 0 for k in found.kernels)
    assert found.longest is not None


def test_a_program_as_written_is_predicted_too(programs):
    found = predict(programs.tile("gemm"), Plan(), toy_spec("plain"), dims=LARGE)
    assert found.kernels[0].flops == 2 * 4096**3
    assert found.seconds > 0


def test_a_gap_has_a_likely_cause(product):
    near = gap(product, product.seconds * 1.05)
    assert near.agrees
    assert near.ratio == pytest.approx(1.05)
    assert "spilled" in gap(product, product.seconds * 1.5, spilled=128).cause
    assert "cache" in gap(product, product.seconds / 100).cause
    assert not gap(product, product.seconds * 1.5).agrees


def test_the_trace_is_trace_event_json(product):
    events = json.loads(chrome_trace(product))["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert len(spans) == len(product.kernels[0].spans)
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans)
    named = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"producer", "matrix"} <= named


def test_the_picture_is_well_formed(launch):
    root = ET.fromstring(timeline_svg(launch))
    assert root.tag.endswith("svg")
    texts = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "producer" in texts
    bare = ET.fromstring(timeline_svg(launch, labels=False))
    assert "producer" not in [e.text for e in bare.iter() if e.tag.endswith("text")]
