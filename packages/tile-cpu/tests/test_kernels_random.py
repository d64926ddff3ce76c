"""Three hundred random programs through the whole path, many to a C file."""

import pytest

from tile_cpu import spec
from tile_cpu.driver import compile_function
from tile_cpu.emit import emit_functions
from tile_cpu.runtime import CpuKernel
from tile_cpu.toolchain import compile
from tile_ir.interp import run
from tile_ir.testing.compare import assert_all_close
from tile_ir.testing.host_memory import call_on_host
from tile_ir.testing.random import random_inputs, random_program

BATCH = 30


@pytest.mark.parametrize("first", range(0, 300, BATCH))
def test_random_programs_equal_the_oracle(first, tmp_path):
    # Machines alternate, so that every vector length meets many programs.
    arch = spec.load(("znver4", "x86-64-v3", "x86-64-v2")[first // BATCH % 3])
    programs = {seed: random_program(seed) for seed in range(first, first + BATCH)}
    artifacts = {s: compile_function(p.function, arch) for s, p in programs.items()}
    text, entries = emit_functions([a.lowered for a in artifacts.values()], arch)
    flags = ("-O1", *arch.toolchain.flags, "-fwrapv", "-fno-strict-aliasing")
    library = compile(text, tmp_path / "batch.so", flags).path
    for (seed, program), entry in zip(programs.items(), entries, strict=True):
        launch = CpuKernel(library, entry, artifacts[seed].signature, 2)
        args = random_inputs(program.function, seed)
        want = run(program.function, args)
        assert_all_close(call_on_host(launch, program.function, args), want, program.tolerance)
