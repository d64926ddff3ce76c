"""What the tests of this package share: a compiler, the machine's text, the prelude run on the
host, lowered programs."""

import ctypes
import platform
import subprocess
from functools import cache
from importlib import util
from pathlib import Path

import pytest

from tile_ir.diag import TileError
from tile_ir.testing.corpus import corpus
from tile_passes.base import PassContext, State
from tile_rocm import spec
from tile_rocm.compilers import find_compiler
from tile_rocm.pipeline import pipeline
from tile_rocm.prelude.index import mentioned, pieces_for
from tile_rocm.toolchain import assembly

HOST_FORM = {
    "TILE_FN": "#define TILE_FN static inline __attribute__((always_inline))",
    "tile_f32_to_bf16": """TILE_FN unsigned short tile_f32_to_bf16(float x) {
  unsigned u = tile_bits_to<unsigned>(x);
  return x != x ? 0x7fc0 : (unsigned short)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}""",
}
"""What stands in the place of what only the device, or only some hosts, can do."""


@pytest.fixture(scope="session")
def compiler():
    """The clang at hand; it needs no device."""
    try:
        return find_compiler()
    except TileError as error:
        pytest.skip(error.message)


@pytest.fixture
def instructions(compiler):
    """Compile the text of kernels with the prelude it mentions; returns the machine's text."""

    def run(text, arch, own=None):
        made = {"TILE_WAVE": f"#define TILE_WAVE {spec.load(arch).warp_width}", **(own or {})}
        return assembly(pieces_for(mentioned(text), made) + text, arch, compiler=compiler)

    return run


@pytest.fixture(scope="session")
def build_on_host():
    """Build C++ text into a library of this machine: (text, folder) -> library."""
    found = util.find_spec("ziglang")
    if found is None:
        pytest.skip("ziglang is not installed")
    options = [
        "-std=c++17",
        "-O2",
        "-shared",
        "-fPIC",
        "-nostdlib++",
        "-fno-strict-aliasing",
        "-lm",
    ]
    if platform.machine().lower() in ("x86_64", "amd64"):
        options += ["-mavx2", "-mfma", "-mf16c"]
    zig = str(Path(found.origin).with_name("zig"))

    def build(text, folder):
        source, library = folder / "host.cpp", folder / "host.so"
        source.write_text(text)
        # Contraction as on the device; without it the results may only be better.
        command = [
            zig,
            "cc",
            *options,
            "-ffp-contract=fast",
            str(source),
            "-lm",
            "-o",
            str(library),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:3000]
        return ctypes.CDLL(str(library))

    return build


@pytest.fixture(scope="session")
def on_host(build_on_host, tmp_path_factory):
    """Functions of the prelude as a library: text with `extern "C"` functions -> library."""

    @cache
    def run(text):
        folder = tmp_path_factory.mktemp("host")
        return build_on_host(pieces_for(mentioned(text), HOST_FORM) + text, folder)

    return run


def lowered(function, arch):
    """A function after the target's passes."""
    state = State(function=function)
    for step in pipeline().steps:
        state = step.run(state, PassContext(target=spec.load(arch), pins={}))
    return state.function


@pytest.fixture
def lowered_sample():
    """A program of the corpus after the target's passes."""
    return lambda name, arch: lowered(corpus()[name].function, arch)
