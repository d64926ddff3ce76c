"""What one statement is counted to ask of a core."""

import pytest

from tile_ir.ops import Copy, Gemm, Kernel, Parallel
from tile_ir.rewrite import declared, walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.model.arithmetic import parallel_cycles
from tile_passes.model.work import Costs

ACCUMULATOR = "layout [thread (4:d1*2, 8:d0*1, 4:d0*16) value (2:d1*1, 2:d0*8, 16:d1*8)]"


def counted(body, kind, arch="async", atoms=None):
    """The costs of the first statement of a kind, and the statement."""
    text = f"""func @f(X: global f16[1024, 128], Y: global f32[1024, 128]) stage scheduled {{
  kernel @f threads = (128) {{
    tiles (b) in (16) {{
{body}
    }}
  }}
}}
"""
    fn = parse_function(text)
    kernel = next(s for s in walk(fn.body) if isinstance(s, Kernel))
    stmt = next(s for s in walk(kernel.body) if isinstance(s, kind))
    return Costs(toy_spec(arch), declared(fn), atoms or {}, 4).of(stmt)


@pytest.mark.parametrize(
    ("layout", "times"),
    [("d0 (64:64) d1 (64:1)", 8.0), ("d0 (64:64) d1 (64:1) swizzle<3,4,3>", 1.0)],
)
def test_conflicts_of_a_part_of_a_fragment_are_counted(layout, times):
    body = f"""
      alloc c: fragment f16[64, 128] {ACCUMULATOR}
      alloc s: shared f16[64, 64] layout [{layout}]
      copy c[:, 64 : +64] -> s[:, :]
"""
    work = counted(body, Copy)
    assert work.ideal_shared == 64 * 64 * 2 / 128
    assert work.shared == times * work.ideal_shared


def test_a_product_counts_operations_and_the_operands_it_reads():
    body = f"""
      alloc a: shared f16[64, 32]
      alloc b: shared f16[32, 128]
      alloc c: fragment f32[64, 128] {ACCUMULATOR}
      gemm a[:, :], b[:, :] -> c[:, :]
"""
    atom = toy_spec("async").atoms("f16", "f16", "f32")[0]
    work = counted(body, Gemm, atoms={"c": atom})
    assert work.flops == 2 * 64 * 128 * 32
    assert work.matrix == work.flops / atom.rate
    assert work.shared == (64 * 32 + 32 * 128) * 2 / 128
    bare = counted(body, Gemm)
    assert bare.matrix == 0
    assert bare.vector == bare.flops / toy_spec("async").rates.vector_flops


def test_global_bytes_come_in_whole_sectors():
    body = """
      alloc x: fragment f16[64, 4]
      copy X[b * 64 : +64, 0 : +4] -> x[:, :]
"""
    work = counted(body, Copy)
    line = toy_spec("async").scopes["global"].line_bytes
    assert work.loads == 64 * max(8, line)
    assert work.filled == "x"


def test_what_iterations_share_is_computed_once():
    spec = toy_spec("async")
    lanes = spec.rates.vector_flops / 2

    def cycles(value):
        body = f"""
      alloc x: fragment f32[64, 128]
      alloc r: fragment f32[64]
      parallel (i, j) in (64, 128) {{
        store x[i, j] = {value}
      }}
"""
        text = f"""tile.ir 1.0 tile
func @f() {{
  kernel @f threads = (128) {{
    tiles (b) in (16) {{
{body}
    }}
  }}
}}
"""
        fn = parse_function(text)
        return parallel_cycles(next(s for s in walk(fn.body) if isinstance(s, Parallel)), spec)

    assert cycles("x[i, j] + 1.0") == 64 * 128 / lanes
    assert cycles("r[i] + 1.0") == 64 / lanes, "the same in all columns"
    assert cycles("exp2(x[i, j])") == spec.rates.math["exp2"] * 64 * 128 / lanes
    assert cycles("f32(j * 2 + 1)") == 0.0, "indices are constants of unrolled code"
