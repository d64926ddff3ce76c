"""Which loops stay loops, and how many steps of a product stand side by side, though the device
compiler could unroll all."""

import pytest

from tile_ir.ops import For
from tile_ir.rewrite import declared, walk
from tile_ir.text import parse_function
from tile_rocm.ordering import stays_a_loop, steps_at_once

LOOP = """
func @f(n: i32) stage simt {{
  kernel @f threads = (32) {{
    tiles (x) in (1) {{
      alloc a: local f16[16]
      alloc c: local f32[{sums}]
      for k in (0, {trips}, 1) {kind} {{
        {body}
      }}
    }}
  }}
}}
"""
ATOM = "atom m16n16k16_f16 a[0 : +16], a[0 : +16] -> c[0 : +8]"


def loop_of(sums=32, trips="4", kind="serial", body=ATOM):
    fn = parse_function(LOOP.format(sums=sums, trips=trips, kind=kind, body=body))
    (loop,) = (s for s in walk(fn.body) if isinstance(s, For))
    return loop, declared(fn)


def made(**how):
    return stays_a_loop(*loop_of(**how))


def test_few_trips_of_products_with_few_sums():
    assert made()
    assert made(trips="8", sums=64)


@pytest.mark.parametrize(
    "other",
    [
        {"trips": "9"},
        {"trips": "n"},
        {"sums": 128},
        {"kind": "unroll"},
        {"body": "store c[0] = 0.0"},
    ],
    ids=str,
)
def test_other_loops(other):
    assert not made(**other)


NUMBERED = {
    "a register of an operand": "atom m16n16k16_f16 a[k * 16 : +16], a[0 : +16] -> c[0 : +8]",
    "a register that is read": "store c[0] = c[k]",
    "a register that is written": "store c[k] = 0.0",
}


@pytest.mark.parametrize(("trips", "steps"), [("4", 0), ("8", 0), ("16", 4), ("32", 4), ("18", 0)])
def test_steps_of_a_product_that_stand_side_by_side(trips, steps):
    assert steps_at_once(*loop_of(trips=trips, kind="unroll")) == steps


@pytest.mark.parametrize("body", NUMBERED.values(), ids=NUMBERED)
def test_steps_that_take_registers_by_their_number_all_stand(body):
    assert steps_at_once(*loop_of(trips="16", kind="unroll", body=body)) == 0
    assert steps_at_once(*loop_of(trips="n", kind="unroll", body=body)) == 0
