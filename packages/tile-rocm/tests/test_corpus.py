"""Every program of the corpus becomes machine code by the generic lowering to threads, and means
what it meant."""

import dataclasses
import re
import time

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.target import Table
from tile_ir.testing.compare import assert_close
from tile_ir.testing.conformance import TargetConformance
from tile_ir.testing.corpus import corpus
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_rocm import spec
from tile_rocm.driver import emit
from tile_rocm.pipeline import pipeline
from tile_rocm.toolchain import SPILL_LIMIT, assembly, compile_source

OTHERS = ("gfx90a", "gfx950", "gfx1100", "gfx1200")
EVERYWHERE = ("gemm_nn_f16", "gemm_i8", "attention", "softmax", "histogram", "scan", "two_kernels")
"""One of each kind, for the other architectures."""
TOYS = ("gemm_nt_f16", "gemm_gelu", "row_sum_f16", "scan", "softmax_online", "column_sums")
"""Programs whose threads talk to each other: shuffles, shared memory, matrix instructions."""
MATRIX = {
    "gfx90a": "v_mfma_f32_32x32x8f16",
    "gfx942": "v_mfma_f32_32x32x8_f16",
    "gfx950": "v_mfma_f32_32x32x16_f16",
    "gfx1100": "v_wmma_f32_16x16x16_f16",
    "gfx1200": "v_wmma_f32_16x16x16_f16",
}
GEMM = """
func @matmul(A: global f16[1024, 1024], B: global f16[1024, 1024], C: global f16[1024, 1024])
results (C) {
  kernel @matmul threads = (256) {
    tiles (bx, by) in (8, 8) {
      alloc A_s: shared f16[128, 32]
      alloc B_s: shared f16[32, 128]
      alloc C_l: fragment f32[128, 128]
      fill C_l[:, :], 0.0
      for k in (0, 32, 1) pipelined num_stages = 3 {
        copy A[by * 128 : +128, k * 32 : +32] -> A_s[:, :] clip
        copy B[k * 32 : +32, bx * 128 : +128] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      copy C_l[:, :] -> C[by * 128 : +128, bx * 128 : +128] clip
    }
  }
}
"""


def lowered(function, target):
    state = State(function=function)
    for step in pipeline().steps:
        state = step.run(state, PassContext(target=target, pins={}))
    return state.function


def compile_function(function, target):
    """What the conformance kit wants: a function to an artifact."""
    return emit(lowered(function, target), target)


class TestConformance(TargetConformance):
    target = "rocm"
    arch = "gfx942"
    compile = staticmethod(compile_function)
    seeds = 5
    run_seeds = 1

    def loaded(self, fn, folder):
        """The archives of all programs are made below; launching them needs a device."""
        pytest.skip("launches need a device with memory of its own")


def checked(made, arch, compiler):
    code, usage = compile_source(made.source, arch, made.strict, compiler)
    assert code[:4] == b"\x7fELF"
    assert set(usage) == set(made.kernels)
    assert all(row.vector_spills == row.stack == 0 for row in usage.values())
    return usage


@pytest.mark.parametrize("name", sorted(corpus()))
def test_a_program_compiles(compiler, lowered_sample, name):
    checked(emit(lowered_sample(name, "gfx942"), spec.load("gfx942")), "gfx942", compiler)


@pytest.mark.parametrize("arch", OTHERS)
@pytest.mark.parametrize("name", EVERYWHERE)
def test_other_architectures(compiler, lowered_sample, name, arch):
    made = emit(lowered_sample(name, arch), spec.load(arch))
    checked(made, arch, compiler)
    assert made.matrix == name.startswith("gemm")


def test_sums_stay_where_they_were_planned(lowered_sample):
    """A faster instruction of this architecture keeps them elsewhere; to move them there and back
    in every trip would cost more than it gains."""
    source = emit(lowered_sample("gemm_split_k", "gfx950"), spec.load("gfx950")).source
    assert "tile_matrix_m16n16k16_f16(&C_l[" in source
    assert "acc_st" not in source
    assert source.count("tile_sync();") == 2


@pytest.mark.parametrize("arch", sorted(MATRIX))
def test_a_product_is_matrix_instructions_without_spills(compiler, arch):
    made = compile_function(parse_function(GEMM), spec.load(arch))
    usage = compile_source(made.source, arch, compiler=compiler)[1]["matmul"]
    assert usage.vector_spills == usage.stack == 0 < SPILL_LIMIT
    assert usage.vector_registers <= spec.load(arch).registers.per_thread
    assert usage.shared == 2 * 16384
    machine = assembly(made.source, arch, compiler=compiler)
    atom = max(spec.load(arch).atoms("f16", "f16", "f32"), key=lambda atom: atom.rate)
    waves = 256 // spec.load(arch).warp_width
    count = 128 * 128 * 32 // (atom.m * atom.n * atom.k) // waves
    found = len(re.findall(rf"\b{MATRIX[arch]}\b", machine))
    assert found in (count, 2 * count)  # the compiler may split off the last trip
    assert not re.search(r"\bscratch_|\bbuffer_(load|store)", machine)
    stores = re.findall(r"global_store_\w+", machine)
    if arch != "gfx1100":  # there a lane has every second column
        assert set(stores) <= {"global_store_dwordx2", "global_store_b128"}


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
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


ATOMS = [(arch, name) for arch in ("gfx90a", *OTHERS, "gfx942") for name in spec.load(arch).matrix]


@pytest.mark.parametrize(("arch", "name"), ATOMS)
def test_every_atom_is_lowered_to_its_instruction(compiler, arch, name):
    whole = spec.load(arch)
    atom = whole.matrix[name]
    target = dataclasses.replace(whole, matrix=Table({name: atom}))
    extents = (2 * atom.m, 2 * atom.n, 2 * atom.k)
    fn = product(atom.a.dtype, atom.accumulator.dtype, extents, 2 * whole.warp_width)
    low = lowered(fn, target)
    made = emit(low, target)
    assert f"tile_matrix_{name}(&c[" in made.source
    machine = assembly(made.source, arch, compiler=compiler)
    kind = "mfma" if whole.warp_width == 64 else "wmma"
    shape = f"{atom.m}x{atom.n}x{atom.k}"
    found = set(re.findall(rf"\bv_{kind}_\w+", machine))
    assert len(found) == 1
    assert shape in found.pop()
    args = random_inputs(fn, 1)
    got, want = run(low, args, target=target)["C"], run(fn, args)["C"]
    np.testing.assert_allclose(
        np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=2e-2, atol=2e-2
    )


def test_compiling_takes_little_time(compiler):
    target = spec.load("gfx942")
    compile_source(compile_function(parse_function(GEMM), target).source, "gfx942", False, compiler)
    start = time.perf_counter()
    made = compile_function(parse_function(GEMM), target)
    compile_source(made.source, "gfx942", made.strict, compiler)
    assert time.perf_counter() - start < 2.0
