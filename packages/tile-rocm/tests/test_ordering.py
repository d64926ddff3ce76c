"""Which loops stay loops when the device compiler could unroll them."""

import pytest

from tile_ir.ops import For
from tile_ir.rewrite import declared, walk
from tile_ir.text import parse_function
from tile_rocm.ordering import stays_a_loop

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


def made(sums=32, trips="4", kind="serial", body=ATOM):
    fn = parse_function(LOOP.format(sums=sums, trips=trips, kind=kind, body=body))
    (loop,) = (s for s in walk(fn.body) if isinstance(s, For))
    return stays_a_loop(loop, declared(fn))


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
