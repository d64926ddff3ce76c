"""The emitted source itself, executed on the host by an emulation of waves, equals the oracle."""

import ctypes
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.target import Table
from tile_ir.testing.compare import assert_close
from tile_ir.testing.corpus import corpus
from tile_ir.testing.host_memory import call_on_host
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_rocm import spec
from tile_rocm.driver import emit
from tile_rocm.pipeline import pipeline

FOLDER = Path(__file__).parent
SAMPLES = (
    "softmax", "softmax_online", "column_sums", "scan", "histogram", "row_max_f16", "two_kernels",
    "gemm_nt_f16", "gemm_gelu", "gemm_split_k", "gemm_i8", "gemm_bf16_out_bf16",
    "rms_norm", "extremes",
)  # fmt: skip
ATOMS = {
    "gfx90a": ("m32n32k8_i8", "m16n16k16_bf16", "m32n32k2_f32"),
    "gfx942": (
        "m32n32k8_f16",
        "m32n32k8_f16_down",
        "m16n16k16_f16",
        "m16n16k16_f16_down",
        "m32n32k8_bf16",
        "m16n16k8_tf32",
        "m16n16k4_f64",
        "m16n16k32_i8",
    ),
    "gfx950": (
        "m32n32k16_f16",
        "m16n16k32_bf16",
        "m32n32k16_f16_pairs",
        "m16n16k32_bf16_pairs",
    ),
    "gfx1100": ("m16n16k16_f16", "m16n16k16_f16_down", "m16n16k16_bf16", "m16n16k16_u8"),
    "gfx1200": ("m16n16k16_f16", "m16n16k16_bf16_down", "m16n16k16_f16_f16", "m16n16k16_i8"),
}
KERNEL = re.compile(r"TILE_KERNEL\((\d+)\).* void (\w+)\((.*)\) \{")
REPLACED = {
    "TILE_FN": "#define TILE_FN static inline __attribute__((always_inline))",
    "TILE_KERNEL": '#define TILE_KERNEL(THREADS) extern "C"',
    "TILE_SHARED": "#define TILE_SHARED static __attribute__((aligned(16)))",
}
TYPES = {"P": ctypes.c_void_p, "i": ctypes.c_int, "f": ctypes.c_float, "q": ctypes.c_longlong}


def host_source(artifact, width):
    """The emitted source with the host's idea of a kernel, and a way to launch each."""
    text = artifact.source
    for name, define in REPLACED.items():
        text = re.sub(rf"#define {name}\b(?:.*\\\n)*.*", lambda _, d=define: d, text)
    text = text.replace("__builtin_amdgcn_mfma_", "mfma_").replace(
        "__builtin_amdgcn_wmma_", "wmma_"
    )
    launches = []
    for threads, name, parameters in KERNEL.findall(artifact.source):
        names = [re.search(r"(\w+)$", p)[1] for p in parameters.split(", ")] if parameters else []
        fields = "".join(f"{p}; " for p in parameters.split(", ") if p)
        unpacked = ", ".join(f"x->{n}" for n in names)
        launches.append(
            f"struct {name}_arguments {{ {fields} }};\n"
            f"static void {name}_call(void *p) {{ auto x = ({name}_arguments *)p; "
            f"{name}({unpacked}); }}\n"
            f'extern "C" void launch_{name}(int blocks, {parameters}) {{\n'
            f"  {name}_arguments x = {{{', '.join(names)}}};\n"
            f"  run_blocks(blocks, {threads}, {name}_call, &x);\n}}\n"
        )
    waves = (FOLDER / "emulated_wave.h").read_text()
    return "\n".join([f"#define TILE_WAVE {width}", waves, text, *launches])


class Host:
    """What the host part of a function asks of a device, on the host."""

    def __init__(self, library):
        self.library = library
        self.memory = []

    def kernel(self, name, formats, threads, _shared):
        function = getattr(self.library, f"launch_{name}")
        function.argtypes = [ctypes.c_int, *(TYPES[letter] for letter in formats)]
        return function

    def allocate(self, size):
        self.memory.append(ctypes.create_string_buffer(size + 64))
        return self.memory[-1], -(-ctypes.addressof(self.memory[-1]) // 64) * 64

    def workers(self):
        return 2

    def failed(self, message):
        raise ValueError(message)


@pytest.fixture
def execute(build_on_host, tmp_path):
    """Run a lowered function's emitted source."""

    def call(fn, low, target, args):
        artifact = emit(low, target)
        library = build_on_host(host_source(artifact, target.warp_width), tmp_path)
        namespace = {}
        exec(artifact.host, namespace)
        launch = namespace["bind"](Host(library))
        return call_on_host(launch, fn, args)

    return call


def lowered(function, target):
    state = State(function=function)
    for step in pipeline().steps:
        state = step.run(state, PassContext(target=target, pins={}))
    return state.function


@pytest.mark.parametrize("name", SAMPLES)
def test_a_program_equals_the_oracle(execute, name):
    sample, target = corpus()[name], spec.load("gfx942")
    args = sample.inputs(sample.sizes[0])
    want = run(sample.function, args)
    got = execute(sample.function, lowered(sample.function, target), target, args)
    for key, value in got.items():
        assert_close(value, want[key], rtol=sample.rtol, what=f"{name}: {key}")


@pytest.mark.parametrize(("arch", "name"), [(a, n) for a, names in ATOMS.items() for n in names])
def test_an_atom_equals_the_oracle(execute, arch, name):
    whole = spec.load(arch)
    atom = whole.matrix[name]
    target = dataclasses.replace(whole, matrix=Table({name: atom}))
    kind, result = atom.a.dtype, atom.accumulator.dtype
    m, n, k = 2 * atom.m, atom.n, 2 * atom.k
    fn = parse_function(
        f"""func @f(A: global {kind}[{m}, {k}], B: global {kind}[{k}, {n}],
                    C: global {result}[{m}, {n}]) results (C) {{
          kernel @f threads = ({whole.warp_width}) {{
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
    args = random_inputs(fn, 1)
    got = execute(fn, lowered(fn, target), target, args)["C"]
    want = np.asarray(run(fn, args)["C"], np.float64)
    assert np.unique(want).size > want.size // 8
    np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=1e-2, atol=1e-2)
