"""Which address each array of a function has to begin at."""

import pytest

from tile_cuda import spec
from tile_cuda.alignments import alignments, pitches
from tile_cuda.driver import emit
from tile_ir.diag import TileError
from tile_ir.text import parse_function

HEAD = "X: global f16[1024], Y: global f16[1024], s: f32"


def simt(body, threads=128):
    return parse_function(
        f"func @f({HEAD}) results (Y) stage simt {{ kernel @f threads = ({threads}) {{\n"
        f"tiles (b) in (1) {{\nlet t = thread_index()\n{body}\n}} }} }}"
    )


VECTORS = [
    ("store Y[t] = X[t]", (2, 2, 1)),
    ("store Y[ramp(t * 8, 1, 8)] = X[ramp(t * 8, 1, 8)]", (16, 16, 1)),
    ("store Y[ramp(t * 16, 1, 16)] = X[ramp(t * 16, 1, 16)]", (16, 16, 1)),
    ("alloc r: local f16[4]\nstore r[ramp(0, 1, 4)] = X[ramp(t * 4, 1, 4)]\nstore Y[t] = r[0]",
     (8, 2, 1)),
    ("store Y[t] = X[t]\nif t == 0 { store Y[ramp(0, 1, 2)] = X[ramp(0, 1, 2)] }", (4, 4, 1)),
    ("view V: global f16[8, 128] of X\n"
     "store Y[ramp(t * 4, 1, 4)] = V[0, ramp(t * 4, 1, 4)]", (8, 8, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), VECTORS)
def test_the_widest_access_counts(body, expected):
    assert alignments(simt(body)) == expected


def test_an_array_that_is_not_used_needs_its_elements_aligned():
    assert alignments(simt("store Y[t] = f16(1.0)")) == (2, 2, 1)


def test_more_shared_memory_than_there_is_is_refused():
    fn = simt("alloc s: shared f16[100000] offset 0\nstore s[t] = X[t]\nstore Y[t] = s[t]")
    with pytest.raises(TileError) as caught:
        emit(fn, spec.load("sm_80"))
    assert caught.value.code == "E3010"
    assert "200000 bytes" in caught.value.message
    assert emit(fn, spec.load("sm_90a")).alignments == (2, 2, 1)


BOXES = """
func @f(X: global f16[n, 64], Y: global f16[n, 64], Z: global f16[64]) dims (n) results (Y)
stage simt {
  kernel @f threads = (128) {
    tiles (b) in (1) {
      alloc s: shared f16[64, 64] offset 0
      alloc f: shared f16[4096] offset 0
      barriers full: [1] arrivals 1 offset = 8192
      sync block
      if thread_index() == 0 {
        barrier_expect full[0] bytes 8192
        box_load X[0 : +64, 0 : +64] -> s[:, :] onto full[0]
      }
      async_copy Z[0 : +4] -> f[0 : +4]
      store Y[0, 0] = f[1]
    }
  }
}
"""


def test_boxes_ask_for_aligned_rows():
    fn = parse_function(BOXES)
    assert alignments(fn) == (16, 2, 8)
    assert pitches(fn) == (16, 1, 1)
