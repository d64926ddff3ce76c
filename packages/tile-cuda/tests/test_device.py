"""On a GPU: conversions, functions, matrix instructions, whole programs, the cost of a launch.

Run with `pytest -m gpu`. Everything is compiled for the device at hand.
"""

import statistics
import time
from dataclasses import replace

import numpy as np
import pytest

from tile_cuda import container, device, spec
from tile_cuda.driver import CudaRuntime, CudaToolchain, emit
from tile_cuda.host_arch import host_arch
from tile_cuda.intrinsics.functions import ULP
from tile_cuda.intrinsics.matrix import PTX_TYPES, mma_wrapper
from tile_cuda.launch import Entry, layout_of, prepare_launch, thread_arguments
from tile_cuda.pipeline import pipeline
from tile_cuda.prelude.index import mentioned, pieces_for
from tile_cuda.runtime import load_module
from tile_cuda.toolchain import compile_source
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.interp.runner import evaluate
from tile_ir.layout import parse_layout
from tile_ir.numerics.array import convert_array, pack, to_numpy_dtype, unpack
from tile_ir.target import Table
from tile_ir.testing.compare import assert_close
from tile_ir.testing.corpus import corpus
from tile_ir.testing.host_memory import call_on_host, dimensions
from tile_ir.testing.requires import requires
from tile_ir.text import parse_function
from tile_ir.types import ALL_DTYPES, dtype, f32
from tile_passes.base import PassContext, State

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def cupy():
    requires("a CUDA device", lambda: host_arch() is not None)
    return pytest.importorskip("cupy")


@pytest.fixture(scope="module")
def target(cupy):
    return spec.load(host_arch())


@pytest.fixture
def build(target, tmp_path):
    """Compile and load a function of stage simt."""

    def make(fn):
        made = emit(fn, target)
        path = tmp_path / f"{made.entry}.zip"
        CudaToolchain(target).compile(made, path)
        return CudaRuntime(target).load(made, path)

    return make


def on_device(cupy, launch, fn, args):
    """Run with arguments in device memory; results come back under the plain convention."""

    def call(*slots):
        moved, copies = [], []
        for slot, param in zip(slots, [*fn.params, *fn.dims], strict=True):
            buffer = getattr(param, "buffer", None)
            if buffer is None:
                moved.append(slot)
                continue
            size = sizes[param.name]
            memory = cupy.cuda.alloc(max(size, 1))
            memory.copy_from_host(slot, size)
            copies.append((slot, memory, size))
            moved.append(memory.ptr)
        launch(*moved)
        cupy.cuda.runtime.deviceSynchronize()
        for slot, memory, size in copies:
            memory.copy_to_host(slot, size)

    dims = dimensions(fn, args)
    sizes = {}
    for p in fn.params:
        if p.buffer is not None:
            count = np.prod([evaluate(fn, e, dims) for e in p.buffer.shape], dtype=np.int64)
            sizes[p.name] = int(-(-int(count) * p.buffer.dtype.storage_bits // 8))
    return call_on_host(call, fn, args)


def one_kernel(declarations, body, count):
    return parse_function(
        f"func @f({declarations}) results (Y) {{ kernel @f threads = (128) {{ "
        f"tiles (bx) in ({-(-count // 128)}) {{\nlet t: i32 = bx * 128 + thread_index()\n"
        f"if t < {count} {{\n{body}\n}} }} }} }}"
    )


def elementwise(source, result, value, count):
    """Y[t] = value, of `count` elements."""
    declarations = f"X: global {source}[{count}], Y: global {result}[{count}]"
    return one_kernel(declarations, f"store Y[t] = {value}", count)


def values(count, seed=0):
    """Random bits of f32, with every kind of special value."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32).view(np.float32)
    x[: count // 2] = rng.normal(0, 100, count // 2).astype(np.float32)
    x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 65504.0, 448.0]
    return x


@pytest.mark.parametrize(
    "kind", [t.name for t in ALL_DTYPES if t.name not in ("i4", "u4", "f4e2m1fn", "f32")]
)
def test_conversions_follow_the_language(cupy, build, kind):
    count, dt = 4096, dtype(kind)
    fn = one_kernel(
        f"X: global f32[{count}], Y: global {kind}[{count}]", f"store Y[t] = {kind}(X[t])", count
    )
    x = values(count)
    got = on_device(cupy, build(fn), fn, {"X": x})["Y"]
    with np.errstate(all="ignore"):
        want = convert_array(x, f32, dt)
    assert_close(got, want, rtol=0, atol=0)
    back = one_kernel(
        f"X: global {kind}[{count}], Y: global f32[{count}]", "store Y[t] = f32(X[t])", count
    )
    wide = on_device(cupy, build(back), back, {"X": want})["Y"]
    assert_close(wide, convert_array(want, dt, f32), rtol=0, atol=0)


REFERENCE = {"rsqrt": lambda x: 1 / np.sqrt(x), "exp10": lambda x: 10.0**x}


@pytest.mark.parametrize("name", sorted(set(ULP) - {"pow", "erf"}))
def test_functions_are_as_accurate_as_stated(cupy, build, name):
    count = 1 << 16
    fn = one_kernel(
        f"X: global f32[{count}], Y: global f32[{count}]", f"store Y[t] = {name}(X[t])", count
    )
    low = 1e-30 if name in ("log", "log2", "log10", "sqrt", "rsqrt") else -30.0
    x = np.random.default_rng(1).uniform(low, 30.0, count).astype(np.float32)
    if name == "log1p":
        x = np.abs(x)
    got = on_device(cupy, build(fn), fn, {"X": x})["Y"].astype(np.float64)
    want = REFERENCE.get(name, getattr(np, name, None))(x.astype(np.float64))
    unit = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    assert np.max(np.abs(got - want) / unit) <= ULP[name] + 0.51


def _random(kind, shape, rng):
    dt = dtype(kind)
    if dt.is_int:
        return rng.integers(0 if kind[0] == "u" else -8, 8, shape).astype(to_numpy_dtype(dt))
    return convert_array(rng.integers(-4, 5, shape).astype(np.float32), f32, dt)


def _registers(layout, tile, axes, dt):
    """The bytes of every thread's registers, thread after thread; `axes` are those of `tile`."""
    held = np.empty((layout.threads, layout.values), tile.dtype)
    for at in np.ndindex(*tile.shape):
        for thread, value in _owners(layout, at, axes):
            held[thread, value] = tile[at]
    return pack(held.reshape(-1), dt)


def _owners(layout, at, axes):
    """Who holds an element: a layout counts coordinates in the order of its own axes."""
    return layout.owners(tuple(at[axes.index(axis)] for axis in layout.outputs))


@pytest.mark.parametrize(
    "name",
    sorted(
        {
            a.name
            for arch in spec.names()
            for a in spec.load(arch).matrix.values()
            if a.engine == "sync"
        }
    ),
)
def test_matrix_instructions_against_numpy(cupy, target, name):
    atom = target.matrix.get(name)
    requires(f"the instruction {name}", atom is not None)
    assert {atom.a.dtype, atom.b.dtype, atom.accumulator.dtype} <= set(PTX_TYPES)
    wrapper, text = mma_wrapper(atom)
    kinds = [dtype(o.dtype) for o in (atom.a, atom.b, atom.accumulator)]
    layouts = [parse_layout(atom.layout(o)) for o in ("a", "b", "accumulator")]
    sizes = [lay.values * dt.storage_bits // 8 for lay, dt in zip(layouts, kinds, strict=True)]
    body = f"""extern "C" __global__ void k(char *c, const char *a, const char *b) {{
  alignas(16) char rc[{sizes[2]}], ra[{sizes[0]}], rb[{sizes[1]}];
  for (int i = 0; i < {sizes[2]}; i++) rc[i] = c[threadIdx.x * {sizes[2]} + i];
  for (int i = 0; i < {sizes[0]}; i++) ra[i] = a[threadIdx.x * {sizes[0]} + i];
  for (int i = 0; i < {sizes[1]}; i++) rb[i] = b[threadIdx.x * {sizes[1]} + i];
  {wrapper}(rc, ra, rb);
  for (int i = 0; i < {sizes[2]}; i++) c[threadIdx.x * {sizes[2]} + i] = rc[i];
}}
"""
    cubin, _ = compile_source(
        pieces_for(mentioned(body), {wrapper: text}) + body, target.toolchain.cpu
    )
    rng = np.random.default_rng(5)
    shapes = [(atom.m, atom.k), (atom.k, atom.n), (atom.m, atom.n)]
    tiles = [_random(dt.name, shape, rng) for dt, shape in zip(kinds, shapes, strict=True)]
    rows = zip(layouts, tiles, ("mk", "kn", "mn"), kinds, strict=True)
    a, b, c = (cupy.asarray(_registers(*row)) for row in rows)
    module = cupy.cuda.function.Module()
    module.load(cubin)
    module.get_function("k")((1,), (32,), (c, a, b))
    got = unpack(c.get(), kinds[2], (32, layouts[2].values))
    wide = [t.astype(np.float64) for t in tiles]
    want = wide[2] + wide[0] @ wide[1]
    for at in np.ndindex(*want.shape):
        for thread, value in _owners(layouts[2], at, "mn"):
            assert float(got[thread, value]) == want[at]


def without_engines(target):
    """The description for arrays whose rows no copy engine takes."""
    matrix = {name: atom for name, atom in target.matrix.items() if atom.engine == "sync"}
    return replace(target, matrix=Table(matrix), copy=Table(), access_bytes=(1,))


def lowered(fn, target):
    state = State(function=fn)
    for step in pipeline().steps:
        state = step.run(state, PassContext(target=target, pins={}))
    return state.function


@pytest.mark.parametrize("name", sorted(corpus()))
def test_programs_of_the_corpus(cupy, target, build, name):
    sample = corpus()[name]
    launch = build(lowered(sample.function, target))
    for dims in sample.sizes:
        args = sample.inputs(dims)
        want = run(sample.function, args)
        try:
            found = on_device(cupy, launch, sample.function, args)
        except TileError as error:
            if error.code != "E3017":
                raise
            # Odd rows, for which callers compile another variant.
            plain = build(lowered(sample.function, without_engines(target)))
            found = on_device(cupy, plain, sample.function, args)
        for key, got in found.items():
            assert_close(got, want[key], rtol=sample.rtol, what=f"{name}: {key}")


def test_a_launch_costs_little_more_than_the_drivers(cupy, build):
    fn = elementwise("f32", "f32", "X[t]", 128)
    launch = build(fn)
    x, y = cupy.zeros(128, cupy.float32), cupy.zeros(128, cupy.float32)
    launch(x.data.ptr, y.data.ptr)
    driver, contents = device.driver(), container.ARCHIVE.unpack(launch.path)
    handle = driver.moduleGetFunction(load_module(contents, launch.path), "f")
    entry = Entry(function=handle, name="f", formats="PP", threads=128, shared=0)
    prepare_launch(entry, 0)(1, x.data.ptr, y.data.ptr)
    memory, pointers = thread_arguments(layout_of("PP")).block
    layout_of("PP").packer.pack_into(memory, 0, x.data.ptr, y.data.ptr)

    def raw():
        driver.launchKernel(handle, 1, 1, 1, 128, 1, 1, 0, 0, pointers, 0)

    def cost(call):
        rounds = []
        for _ in range(20):
            cupy.cuda.runtime.deviceSynchronize()
            start = time.perf_counter()
            for _ in range(200):
                call()
            rounds.append((time.perf_counter() - start) / 200)
        return statistics.median(rounds)

    extra = cost(lambda: launch(x.data.ptr, y.data.ptr)) - cost(raw)
    assert extra < 5e-6
