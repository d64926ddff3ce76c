"""Kernels that say themselves who copies, who computes and who waits for whom: right ones in the
oracle and in the emulator, wrong ones refused with the line and the steps that show the mistake."""

import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import tile_frontend as tile
from tile_cuda import spec
from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.pipeline import pipeline as passes
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_passes.base import PassContext, State
from tile_passes.manager import run_pipeline

_SPEC = importlib.util.spec_from_file_location(
    "manual_kernels", Path(__file__).with_name("manual_kernels.py")
)
kernels = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(kernels)
M, N, K = kernels.M, kernels.N, kernels.K

DEVICE = "cuda -arch=sm_90a"
needs_compiler = pytest.mark.skipif(
    find_nvrtc() is None, reason="nvidia-cuda-nvrtc is not installed"
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Compile anew: a cached kernel has been checked before."""
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))


def emulated(function, *arrays):
    """The arrays after the kernel has run on them."""
    kernel = tile.compile(function, target=DEVICE, device="emulator")
    copies = [a.copy() for a in arrays]
    kernel(*copies)
    return copies, kernel


def interpreted(function, schedule, *arrays):
    names = [p.name for p in function.function.params]
    return run(function.function, dict(zip(names, arrays, strict=True)), schedule=schedule)


def matrices(m, n, k, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(-4, 5, (m, k)).astype(np.float16)
    b = rng.integers(-4, 5, (k, n)).astype(np.float16)
    return a, b, a.astype(np.float32) @ b.astype(np.float32)


FAULTS = {
    "missing arrive": ("wait", "every role waits"),
    "wrong parity": ("use", "A_s[0] is read before anything was put there"),
    "wait before the copy": ("wait", "every role waits"),
    "early overwrite": ("copy", "role ws1 overwrites A_s[0] while a copy"),
    "arrival count": ("arrive", "128 threads arrive at ready[0], whose phase ends with 127"),
    "swapped barriers": ("wait", "every role waits"),
    "missing wait": ("use", "A_s[0] is read before anything was put there"),
    "index off by one": ("next", "role ws0 reads A_s[1] while a copy"),
    "no initial release": ("wait", "every role waits"),
    "deadlock of two roles": ("both", "a wait never ends"),
}
"""What is wrong -> the mark of the line that is blamed, and what is said of it."""


def line_of(mark):
    """The number of the one line of `pipeline` with a mark behind it."""
    source, first = inspect.getsourcelines(kernels.pipeline)
    found = [n for n, line in enumerate(source, first) if line.rstrip().endswith(f"# {mark}")]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_pipeline_is_refused_with_the_steps_that_show_it(fault):
    mark, message = FAULTS[fault]
    with pytest.raises(TileError) as caught:
        tile.compile(kernels.pipeline(fault), target=DEVICE, device="emulator")
    error = caught.value
    assert error.code == "E0711"
    assert error.message.startswith(f"kernel product: {message}")
    assert error.span is not None
    assert (error.span.file, error.span.line) == (kernels.__file__, line_of(mark))
    assert error.help
    if fault not in ("no initial release",):
        assert error.notes[0] == "the last steps, from top to bottom:"


def test_the_steps_are_a_column_for_each_role_with_lines():
    with pytest.raises(TileError) as caught:
        tile.compile(kernels.pipeline("index off by one"), target=DEVICE, device="emulator")
    copy, arrive, wait, use = (line_of(m) for m in ("copy", "arrive", "wait", "next"))
    rows = [[cell.strip() for cell in note.split("|")] for note in caught.value.notes[1:]]
    assert rows[0] == ["ws0", "ws1", "line"]
    assert ["", "copy to A_s[0] onto ready[0]", str(copy)] in rows
    assert ["", "arrive ready[0], 128 threads", str(arrive)] in rows
    assert rows[-2:] == [
        ["wait ready[0] parity 0", "", str(wait)],
        ["start a product: read A_s[1], B_s[1]", "", str(use)],
    ]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("schedule", ["late", "issue"])
def test_the_right_pipeline_in_the_oracle(depth, schedule):
    a, b, want = matrices(M, N, K)
    got = interpreted(kernels.pipeline(depth=depth), schedule, a, b, np.zeros((M, N), np.float32))
    np.testing.assert_array_equal(got["C"], want)


@needs_compiler
@pytest.mark.parametrize("depth", [1, 3])
def test_the_right_pipeline_in_the_emulator(depth):
    a, b, want = matrices(M, N, K)
    arrays, kernel = emulated(kernels.pipeline(depth=depth), a, b, np.zeros((M, N), np.float32))
    np.testing.assert_array_equal(arrays[2], want)
    _, source = kernel.get_kernel_source().split("__global__")
    assert "tile_wgmma_m64nNk16_f16_n64_ss" in source  # instructions are chosen for the role
    assert source.count("tile_box_load_2d(") == 2
    assert "tile_named_sync" not in source  # nothing is waited for but what the kernel says


@needs_compiler
def test_threads_that_copy_for_threads_that_multiply():
    a, b, want = matrices(128, 128, 256)
    arrays, kernel = emulated(kernels.copied_by_threads(), a, b, np.zeros((128, 128), np.float32))
    np.testing.assert_array_equal(arrays[2], want)
    source = kernel.get_kernel_source()
    assert source.index("tile_fence_async();") < source.index("tile_phase_arrive(&data_is_ready")


@needs_compiler
@pytest.mark.parametrize("length", [8, 232, 233])  # the last one leaves the copy engine out
def test_three_roles_and_a_length_of_the_launch(length):
    a, b, want = matrices(128, 64, length)
    arrays, _ = emulated(kernels.shared_out(), a, b, np.zeros((128, 64), np.float32))
    np.testing.assert_array_equal(arrays[2], want)


@needs_compiler
def test_each_role_has_its_own_phase():
    a, b, want = matrices(128, 64, 128)
    arrays, _ = emulated(kernels.with_a_phase(), a, b, np.zeros((128, 64), np.float32))
    np.testing.assert_array_equal(arrays[2], want)


@pytest.mark.parametrize("schedule", ["late", "issue"])
def test_branches_on_threads_in_the_oracle(schedule):
    a, b, want = matrices(128, 64, 128)
    got = interpreted(kernels.branched(), schedule, a, b, np.zeros((128, 64), np.float32))
    np.testing.assert_array_equal(got["C"], want)


@needs_compiler
def test_branches_on_threads_are_roles():
    a, b, want = matrices(128, 64, 128)
    arrays, kernel = emulated(kernels.branched(), a, b, np.zeros((128, 64), np.float32))
    np.testing.assert_array_equal(arrays[2], want)
    _, source = kernel.get_kernel_source().split("__global__")
    # Who arrives for all of a role does so when all are done with the slot.
    settled, rest = source.split("tile_wgmma_wait<0>();", 1)[1].split("tile_named_sync(1, 128);", 1)
    assert "tile_phase_arrive" not in settled
    assert "tile_phase_arrive(&done[" in rest


@needs_compiler
def test_products_in_flight():
    a, b, want = matrices(M, N, K)
    arrays, kernel = emulated(kernels.products_in_flight(), a, b, np.zeros((M, N), np.float32))
    np.testing.assert_array_equal(arrays[2], want)
    _, source = kernel.get_kernel_source().split("__global__")
    loop = source[source.index("for (int k") : source.index("T.wait_wgmma(0)")]
    assert loop.index("tile_wgmma_commit();") < loop.index("tile_wgmma_wait<1>();")
    assert "tile_wgmma_wait<0>();" not in loop


@pytest.mark.parametrize("schedule", ["late", "issue"])
def test_products_in_flight_in_the_oracle(schedule):
    a, b, want = matrices(M, N, K)
    got = interpreted(kernels.products_in_flight(), schedule, a, b, np.zeros((M, N), np.float32))
    np.testing.assert_array_equal(got["C"], want)


def test_a_slot_given_back_under_a_product():
    with pytest.raises(TileError) as caught:
        tile.compile(kernels.products_in_flight(pending=2), target=DEVICE, device="emulator")
    assert caught.value.code == "E0711"
    assert "overwrites A_s[0] while a product of role ws0" in caught.value.message


@needs_compiler
def test_a_tile_is_not_filled_anew_under_a_product():
    a, b, want = matrices(64, 64, 128)
    arrays, kernel = emulated(kernels.one_role_for_all(), a, b, np.zeros((64, 64), np.float32))
    np.testing.assert_array_equal(arrays[2], want)
    _, source = kernel.get_kernel_source().split("__global__")
    loop = source[source.index("for (int k") :]
    steps = [
        "tile_wgmma_wait<0>();",
        "__syncthreads();",
        "tile_box_load_2d(",
        "tile_phase_arrive(&come[0]);",
        "tile_phase_wait(&come[0]",
        "tile_wgmma_commit();",
    ]
    places = [loop.index(step) for step in steps]
    assert places == sorted(places)


def softmax_of(q, k, v):
    x = q.astype(np.float32) @ k.astype(np.float32).T / np.sqrt(q.shape[1])
    x = np.exp(x - x.max(1, keepdims=True))
    return x / x.sum(1, keepdims=True) @ v.astype(np.float32)


@needs_compiler
def test_attention_written_by_hand():
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((256, 64)).astype(np.float16) for _ in range(3))
    arrays, kernel = emulated(kernels.attention(), q, k, v, np.zeros_like(q))
    np.testing.assert_allclose(arrays[3], softmax_of(q, k, v), atol=2e-3)
    _, source = kernel.get_kernel_source().split("__global__")
    assert "tile_wgmma_m64nNk16_f16_n64_rs" in source  # p goes from registers into the product
    assert source.count("tile_box_store_2d(") == 1


IN_THREADS = {
    "two slots": (kernels.pipeline, 64, 256),
    "a phase for each role": (kernels.with_a_phase, 128, 128),
    "branches": (kernels.branched, 128, 128),
    "products in flight": (kernels.products_in_flight, 64, 256),
    "one role": (kernels.one_role_for_all, 64, 128),
}
"""Kernels of columns N, with their rows and inner extents."""


@pytest.mark.parametrize("name", IN_THREADS)
@pytest.mark.parametrize("schedule", ["late", "issue"])
def test_the_program_of_one_thread_in_the_oracle(name, schedule):
    make, m, k = IN_THREADS[name]
    target = spec.load("sm_90a")
    start = State(function=make().function)
    made = run_pipeline(passes(), start, PassContext(target=target)).state.function
    a, b, want = matrices(m, N, k)
    args = {"A": a, "B": b, "C": np.zeros((m, N), np.float32)}
    np.testing.assert_array_equal(run(made, args, schedule=schedule, target=target)["C"], want)


@needs_compiler
def test_what_the_check_does_not_follow_the_emulator_sees():
    kernel = tile.compile(kernels.unwatched(), target=DEVICE, device="emulator")
    a, b = np.ones(256, np.float32), np.zeros(256, np.float32)
    with pytest.raises(TileError) as caught:
        kernel(a, b, np.zeros(1, np.int32))
    assert caught.value.code == "E2307"  # no thread can go on
    source, first = inspect.getsourcelines(kernels.unwatched)
    hangs = next(n for n, line in enumerate(source, first) if line.endswith("# hangs\n"))
    assert f"{kernels.__file__}:{hangs}" in str(caught.value)


EVERYWHERE = (
    kernels.scaled_through_a_barrier,
    kernels.stored_by_the_engine,
    kernels.copied_in_groups,
)


@pytest.mark.parametrize("made", EVERYWHERE)
@pytest.mark.parametrize("target", [DEVICE, "cuda -arch=sm_80", "cpu"])
def test_kernels_without_roles_run_everywhere(made, target):
    if target != "cpu" and find_nvrtc() is None:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    device = {} if target == "cpu" else {"device": "emulator"}
    a = np.arange(4096, dtype=np.float32).reshape(4, 1024)
    b = np.zeros_like(a)
    tile.compile(made(), target=target, **device)(a, b)
    np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.parametrize("target", [DEVICE, "cuda -arch=sm_80", "cpu"])
def test_a_product_that_is_waited_for_runs_everywhere(target):
    if target != "cpu" and find_nvrtc() is None:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    device = {} if target == "cpu" else {"device": "emulator"}
    a, b, want = matrices(64, 64, 64)
    c = np.zeros((64, 64), np.float32)
    tile.compile(kernels.product_that_is_waited_for(), target=target, **device)(a, b, c)
    np.testing.assert_array_equal(c, 2 * want)


@needs_compiler
def test_a_tile_that_two_roles_read_is_filled_anew():
    a, b, want = matrices(128, 64, 64)
    arrays, kernel = emulated(kernels.tile_of_two_roles(), a, b, np.zeros((256, 64), np.float32))
    np.testing.assert_array_equal(arrays[2].reshape(2, 2, 64, 64)[:, 0], want.reshape(2, 64, 64))
    np.testing.assert_array_equal(arrays[2].reshape(2, 2, 64, 64)[:, 1], want.reshape(2, 64, 64))
    # Threads touch no shared memory: what the engine reads needs no fence.
    assert "tile_fence_async();" not in kernel.get_kernel_source().split("__global__")[1]


@pytest.mark.parametrize("made", EVERYWHERE)
@pytest.mark.parametrize("schedule", ["late", "issue"])
def test_kernels_without_roles_in_the_oracle(made, schedule):
    a = np.arange(4096, dtype=np.float32).reshape(4, 1024)
    got = interpreted(made(), schedule, a, np.zeros_like(a))["B"]
    np.testing.assert_array_equal(got, 2 * a)


@pytest.mark.parametrize("target", ["cuda -arch=sm_80", "cpu"])
def test_roles_need_barriers_that_count(target):
    with pytest.raises(TileError) as caught:
        tile.compile(
            kernels.copied_by_threads(),
            target=target,
            **({} if target == "cpu" else {"device": "emulator"}),
        )
    assert caught.value.code == "E0712"
    assert "different roles" in caught.value.message
