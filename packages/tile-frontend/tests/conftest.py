"""A target that needs no compiler: it "emits" the program's text and runs it by the oracle.

With it everything of the frontend is tested without another distribution, tracing to cache.
"""

import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tile_frontend import target_select
from tile_frontend.dims import evaluate
from tile_ir import plugin
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.numerics.array import to_numpy_dtype
from tile_ir.plugin import TargetManifest
from tile_ir.text import parse_function, print_function
from tile_passes.pipeline import Pipeline
from tile_passes.plan.model import Candidate, Decision, Plan

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Artifact:
    source: str
    entry: str
    signature: tuple
    kernels: tuple
    strict: bool
    plan: Plan


DECISION = Decision(
    key="kernel.speed",
    value=("slow", 1),
    reason="there is no other",
    candidates=(Candidate("fast", 2.0, "not built"),),
)


def emit(fn, spec, plan=None):
    kinds = ["ptr" if p.buffer is not None else str(p.scalar.dtype) for p in fn.params]
    return Artifact(
        source=print_function(fn),
        entry=fn.name,
        signature=(*kinds, *("i64" for _ in fn.dims)),
        kernels=(fn.name,),
        strict=fn.numerics == "strict",
        plan=Plan((DECISION,)),
    )


@dataclass
class Toolchain:
    spec: object
    suffix = ".tir"
    source_suffix = ".txt"
    compiled = 0

    def fingerprint(self, strict=False):
        return f"none strict={strict}"

    def compile(self, artifact, out, flags=()):
        type(self).compiled += 1
        out.write_text(artifact.source)


def array_at(address, buffer, dims):
    """The array that a launch gave the address of."""
    shape = tuple(evaluate(e, dims) for e in buffer.shape)
    kind = np.dtype(to_numpy_dtype(buffer.dtype))
    if 0 in shape or not address:
        return np.zeros(shape, kind)
    steps = None
    if buffer.strides is not None:
        steps = tuple(evaluate(e, dims) * kind.itemsize for e in buffer.strides)
    reach = kind.itemsize * int(np.prod(shape))
    if steps is not None:
        reach = kind.itemsize + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    raw = (ctypes.c_char * reach).from_address(address)
    return np.ndarray(shape, kind, raw, strides=steps)


@dataclass
class Runtime:
    spec: object

    def load(self, artifact, path, threads=None):
        fn = parse_function(path.read_text())

        def launch(*values):
            dims = dict(zip((d.name for d in fn.dims), values[len(fn.params) :], strict=True))
            args, arrays = {}, {}
            for param, value in zip(fn.params, values[: len(fn.params)], strict=True):
                if param.buffer is None:
                    args[param.name] = value
                else:
                    arrays[param.name] = array_at(value, param.buffer, dims)
            args |= {n: a for n, a in arrays.items() if n not in fn.results}
            for name, made in run(fn, args).items():
                arrays[name][...] = made

        return launch


MANIFEST = TargetManifest(
    name="oracle",
    description="the program itself",
    specs=lambda: DATA,
    pipeline=lambda default=None: Pipeline(()),
    emit=emit,
    toolchain=Toolchain,
    runtime=Runtime,
    host_arch=lambda: "oracle",
)


@pytest.fixture
def oracle():
    """The manifest of the target that runs programs by the oracle."""
    return MANIFEST


@pytest.fixture
def toolchain():
    """The class of its toolchain, which counts compilations."""
    Toolchain.compiled = 0
    return Toolchain


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """Keep the user's cache out of the tests."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TILE_CACHE_DIR", str(folder))
    monkeypatch.delenv("TILE_TARGET", raising=False)
    return folder / "kernels"


@pytest.fixture
def load_text(tmp_path):
    """Import a module from text. Kernels are read from files, so the text becomes one."""
    import importlib.util

    def load(text, name="kernels"):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def installed(oracle, monkeypatch):
    """Only the oracle's target, as if it were installed."""

    def only(*manifests):
        names = {m.name: m for m in manifests}
        entries = tuple(
            plugin.Entry(
                group="tile.targets", name=n, value="conftest:X", distribution="d", version="1"
            )
            for n in names
        )
        monkeypatch.setattr(target_select, "discover", lambda group: entries)
        monkeypatch.setattr(
            target_select, "load", lambda group, name: names[name] if name in names else missing()
        )
        target_select._named.cache_clear()
        target_select._for_memory.cache_clear()

    def missing():
        raise TileError("E0901", "no such target")

    only(oracle)
    yield only
    target_select._named.cache_clear()
    target_select._for_memory.cache_clear()
