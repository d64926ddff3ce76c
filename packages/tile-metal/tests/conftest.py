"""What the tests of this package share: a compiler that checks, the prelude run on the host,
lowered programs."""

import ctypes
import subprocess
from functools import cache
from importlib import util
from pathlib import Path

import pytest

from tile_ir.testing.corpus import corpus
from tile_metal import spec
from tile_metal.checkers import find_checker
from tile_metal.pipeline import pipeline
from tile_metal.prelude.index import mentioned, pieces_for
from tile_passes.base import PassContext, State

HOST_LIBRARY = (Path(__file__).parent / "metal_stdlib.h").read_text()


@pytest.fixture(scope="session")
def checker():
    """The compiler at hand; it needs no device."""
    found = find_checker()
    if found is None:
        pytest.skip("there is neither xcrun nor a clang")
    return found


@pytest.fixture(scope="session")
def on_host(tmp_path_factory):
    """Functions of the prelude as a library of this machine: text with `extern "C"` functions ->
    library."""
    found = util.find_spec("ziglang")
    if found is None:
        pytest.skip("ziglang is not installed")
    zig = str(Path(found.origin).with_name("zig"))
    # Metal up to 3.2 is C++14; its compilers take `if constexpr` all the same.
    options = ["-std=c++14", "-Wno-c++17-extensions", "-Werror", "-O1"]
    options += ["-shared", "-fPIC", "-nostdlib++", "-Wno-unused-function"]

    @cache
    def run(text):
        folder = tmp_path_factory.mktemp("host")
        source, library = folder / "host.cpp", folder / "host.so"
        source.write_text(HOST_LIBRARY + pieces_for(mentioned(text)) + text)
        command = [zig, "cc", *options, "-ffp-contract=off", str(source), "-lm", "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:3000]
        return ctypes.CDLL(str(library))

    return run


def lowered(function, target):
    """A function after the target's passes."""
    state = State(function=function)
    for step in pipeline().steps:
        state = step.run(state, PassContext(target=target, pins={}))
    return state.function


@pytest.fixture
def lower():
    """A function after the target's passes, for a description."""
    return lowered


@pytest.fixture
def lowered_sample():
    """A program of the corpus after the target's passes."""
    return lambda name, arch: lowered(corpus()[name].function, spec.load(arch))
