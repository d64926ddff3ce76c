"""Programs of the corpus, lowered for this target, mean what they meant; products use the matrix
unit; what does not fit into the memory of a block says what does."""

import dataclasses

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.target import Table
from tile_ir.testing.compare import assert_close
from tile_ir.testing.conformance import TargetConformance
from tile_ir.testing.corpus import corpus
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_function
from tile_metal import spec
from tile_metal.driver import emit
from tile_metal.pipeline import pipeline
from tile_metal.toolchain import check_source
from tile_passes.base import PassContext, State

TOYS = ("gemm_nt_f16", "gemm_gelu", "row_sum_f16", "scan", "softmax_online", "column_sums")
"""Programs whose threads talk to each other: shuffles, shared memory, matrix products."""
GEMM = """
func @matmul(A: global f16[1024, 1024], B: global f16[1024, 1024], C: global f16[1024, 1024])
results (C) {{
  kernel @matmul threads = (256) {{
    tiles (bx, by) in (8, 8) {{
      alloc A_s: shared f16[128, 32]
      alloc B_s: shared f16[32, 128]
      alloc C_l: fragment f32[128, 128]
      fill C_l[:, :], 0.0
      for k in (0, 32, 1) pipelined num_stages = {stages} {{
        copy A[by * 128 : +128, k * 32 : +32] -> A_s[:, :] clip
        copy B[k * 32 : +32, bx * 128 : +128] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }}
      copy C_l[:, :] -> C[by * 128 : +128, bx * 128 : +128] clip
    }}
  }}
}}
"""


def compile_function(function, target):
    """What the conformance kit wants: a function to an artifact."""
    state = State(function=function)
    for step in pipeline().steps:
        state = step.run(state, PassContext(target=target, pins={}))
    return emit(state.function, target)


class TestConformance(TargetConformance):
    target = "metal"
    arch = "apple9"
    compile = staticmethod(compile_function)
    seeds = 5
    run_seeds = 1

    def loaded(self, fn, folder):
        """The archives of all programs are made by the gates; launching them needs a device."""
        pytest.skip("launches need a device with memory of its own")


@pytest.mark.parametrize("arch", ["apple7", "apple9"])
@pytest.mark.parametrize("name", TOYS)
def test_a_threads_program_equals_the_oracle(lowered_sample, name, arch):
    sample, fn = corpus()[name], lowered_sample(name, arch)
    args = sample.inputs(sample.sizes[0])
    want = run(sample.function, args)
    for key, got in run(fn, args, target=spec.load(arch)).items():
        assert_close(got, want[key], rtol=sample.rtol, what=f"{name}: {key}")


def product(kind, result, extents, threads):
    m, n, k = extents
    return parse_function(
        f"""func @f(A: global {kind}[{m}, {k}], B: global {kind}[{k}, {n}],
                    C: global {result}[{m}, {n}]) results (C) {{
          kernel @f threads = ({threads}) {{
            tiles (bx) in (1) {{
              alloc a: shared {kind}[{m}, {k}]
              alloc b: shared {kind}[{k}, {n}]
              alloc c: fragment {result}[{m}, {n}]
              fill c[:, :], 0
              copy A[:, :] -> a[:, :]
              copy B[:, :] -> b[:, :]
              gemm a[:, :], b[:, :] -> c[:, :]
              copy c[:, :] -> C[:, :]
            }}
          }}
        }}"""
    )


CALLS = {
    "m8n8k8_f16": "tile_multiply<half, float>(&c[",
    "m8n8k8_f16_f16": "tile_multiply<half, half>(&c[",
    "m8n8k8_f32": "tile_multiply<float, float>(&c[",
}
BF16 = {
    "apple7": "tile_multiply_widened(&c[",
    "apple8": "tile_multiply_widened(&c[",
    "apple9": "tile_multiply<bfloat, float>(&c[",
    "apple10": "tile_multiply<bfloat, float>(&c[",
}


@pytest.mark.parametrize(("arch", "name"), [(a, n) for a in BF16 for n in spec.load(a).matrix])
def test_every_atom_is_lowered_to_its_product(lower, checker, arch, name):
    whole = spec.load(arch)
    atom = whole.matrix[name]
    target = dataclasses.replace(whole, matrix=Table({name: atom}))
    fn = product(atom.a.dtype, atom.accumulator.dtype, (16, 16, 16), 64)
    low = lower(fn, target)
    made = emit(low, target)
    assert CALLS.get(name, BF16[arch]) in made.source
    check_source(made.source, checker)
    args = random_inputs(fn, 1)
    got, want = run(low, args, target=target)["C"], run(fn, args)["C"]
    np.testing.assert_allclose(
        np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=2e-2, atol=2e-2
    )


@pytest.mark.parametrize("stages", [1, 8])
def test_a_product_loads_the_next_tiles_before_it_multiplies(lower, stages):
    apple9 = spec.load("apple9")
    made = emit(lower(parse_function(GEMM.format(stages=stages)), apple9), apple9)
    loop = made.source[made.source.index("for (int k = 0") :]
    loaded = loop.index("(&A_s_next[")
    multiplied = loop.index("tile_multiply<half, float>")
    put_down = loop.index(", &A_s_next[")
    assert loaded < multiplied < put_down
    # Registers hold the next tiles, so that more stages would only take memory.
    assert made.usage["matmul"].shared == 16384


def test_tiles_beyond_the_memory_of_a_block_name_the_budget(lower):
    big = (
        GEMM.format(stages=2).replace("[128, 32]", "[128, 128]").replace("[32, 128]", "[128, 128]")
    )
    with pytest.raises(TileError, match="take 65536 bytes, a block has 32768") as caught:
        lower(parse_function(big), spec.load("apple9"))
    assert caught.value.code == "E0703"
    assert caught.value.notes == ("A_s: 32768 bytes", "B_s: 32768 bytes")
    assert "smaller tiles" in caught.value.help
