"""Barriers that the user wrote, in simulation."""

import pytest

from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.decisions import Plan
from tile_passes.model import predict
from tile_passes.model.hand import Barrier, awaited
from tile_passes.model.machine import Core


@pytest.mark.parametrize(
    ("parities", "phases"),
    [((0, 1, 0), (0, 1, 2)), ((1, 0, 1), (-1, 0, 1)), ((0, 0, 1), (0, 0, 1)), ((None,), (0,))],
)
def test_parities_name_phases(parities, phases):
    found, before = [], None
    for parity in parities:
        before = awaited(before, parity)
        found.append(before)
    assert tuple(found) == phases


def test_a_phase_ends_with_the_last_arrival_and_the_last_byte():
    core, barrier = Core(), Barrier(2.0)
    barrier.announced = 64.0
    barrier.arrive(core, 1.0, 5.0)
    barrier.arrive(core, 1.0, 9.0)
    assert barrier.ended[0].time is None, "bytes are missing"
    barrier.brought(core, 64.0, 30.0, untold=True)
    assert (barrier.ended[0].time, barrier.phase) == (30.0, 1)
    barrier.arrive(core, 2.0, 40.0)
    assert barrier.ended[1].time == 40.0


def test_roles_by_hand_wait_for_each_other():
    text = """func @f(X: global f32[65536], Y: global f32[65536]) stage scheduled {
  kernel @f threads = (256) {
    tiles (b) in (16) {
      alloc s: shared f32[1024] offset 0
      barriers full: [1] arrivals 1
      role loader threads = 128, warps = 4 {
        issue bulk onto = full, index = 0 {
          copy X[b * 1024 : +1024] -> s[:]
        }
        barrier_arrive full[0] one
      }
      role user threads = 128, warps = 4 {
        barrier_wait full[0] phase 0
        copy s[:] -> Y[b * 1024 : +1024]
      }
    }
  }
}
"""
    spec = toy_spec("async")
    (launch,) = predict(parse_function(text), Plan(), spec).kernels
    assert launch.complete
    waits = [s for s in launch.spans if s.lane == "user" and s.kind == "wait"]
    assert [s.label for s in waits] == ["full[0]"]
    assert waits[0].end >= spec.rates.global_latency
