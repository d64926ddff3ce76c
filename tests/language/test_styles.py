"""The ways to write, compile and call a kernel, and what a compiled kernel tells of itself."""

import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T

N = T.dynamic("N")


@tile.jit(target="cpu")
def scaled(A, factor=2.0, block=32):
    n = T.const("n")
    A: T.Tensor((n,), T.float32)
    B = T.empty((n,), T.float32)
    with T.Kernel(T.ceildiv(n, block)) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i] * factor
    return B


def ones(*shape):
    return np.ones(shape, np.float32)


def test_eager_calls_specialize_on_sizes_and_python_values():
    assert scaled(ones(5)).tolist() == [2] * 5
    assert scaled(ones(40)).tolist() == [2] * 40
    assert scaled(ones(5), 3.0).tolist() == [3] * 5
    assert scaled(A=ones(5), block=4, factor=-1.0).tolist() == [-1] * 5
    assert scaled(ones(5)).tolist() == [2] * 5


def test_eager_results_agree_with_the_oracle(run, rng):
    a = rng.standard_normal(77, dtype=np.float32)
    (b,) = run(scaled.compile(n=77), a)
    np.testing.assert_array_equal(b, 2 * a)


def test_one_eager_build_for_each_combination():
    calls = []

    @tile.jit(target="cpu")
    def counted(A, step):
        calls.append(step)
        n = T.const("n")
        A: T.Tensor((n,), T.int32)
        with T.Kernel(n) as i:
            A[i] = A[i] + step

    a = np.zeros(4, np.int32)
    counted(a, 1)
    traced = len(calls)
    for _ in range(3):
        counted(a, 1)
        counted(np.zeros(4, np.int32), 1)
    assert len(calls) == traced
    counted(a, 10)
    counted(np.zeros(5, np.int32), 1)
    assert len(calls) > traced
    assert a.tolist() == [14] * 4


def test_declarations_in_the_signature():
    m = T.dynamic("m")

    @tile.jit(target="cpu")
    def total(A: T.Tensor((m, 4), T.float32), B: T.Tensor((m,), T.float32)):
        with T.Kernel(m) as i:
            s = T.alloc_var(T.float32, init=0)
            for j in range(4):
                s += A[i, j]
            B[i] = s

    b = np.zeros(3, np.float32)
    assert total(np.arange(12, dtype=np.float32).reshape(3, 4), b) is None
    assert b.tolist() == [6, 22, 38]


def test_element_types_of_the_arguments():
    @tile.jit(target="cpu")
    def doubled(A):
        n = T.const("n")
        A: T.Tensor((n,), A.dtype)
        B = T.empty((n,), A.dtype)
        with T.Kernel(n) as i:
            B[i] = A[i] + A[i]
        return B

    for dtype in (np.float32, np.int8, np.float64):
        made = doubled(np.array([1, 2, 3], dtype))
        assert made.dtype == dtype
        assert made.tolist() == [2, 4, 6]


@tile.jit(out_idx=[-1], target="cpu")
def lazy_sum(n, dtype="float32"):
    @T.prim_func
    def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(n) as i:
            C[i] = A[i] + B[i]

    return main


def test_lazy_style_returns_a_kernel(run):
    kernel = lazy_sum(8)
    assert isinstance(kernel, tile.JITKernel)
    (c,) = run(kernel, ones(8), ones(8))
    assert c.tolist() == [2] * 8
    assert lazy_sum(8) is kernel
    assert lazy_sum(8, dtype="int32") is not kernel
    assert lazy_sum(8, "int32")(*[np.ones(8, np.int32)] * 2).dtype == np.int32


@T.prim_func
def three(A: T.Tensor((N,), T.int32), B: T.Tensor((N,), T.int32), C: T.Tensor((N,), T.int32)):
    with T.Kernel(N) as i:
        B[i] = A[i] + 1
        C[i] = A[i] * 10


def test_outputs_by_position():
    a = np.array([1, 2], np.int32)
    one = tile.compile(three, out_idx=2, target="cpu")
    b = np.zeros(2, np.int32)
    assert one(a, b).tolist() == [10, 20]
    assert b.tolist() == [2, 3]
    assert one.out_idx == [2]
    for form in ([1, 2], (-2, -1)):
        b, c = tile.compile(three, out_idx=form, target="cpu")(a)
        assert (b.tolist(), c.tolist()) == ([2, 3], [10, 20])
    c, b = tile.compile(three, out_idx=[2, 1], target="cpu")(a)
    assert (b.tolist(), c.tolist()) == ([2, 3], [10, 20])


def test_no_outputs_change_arguments_in_place():
    a, b, c = (np.full(3, x, np.int32) for x in (4, 0, 0))
    assert tile.compile(three, target="cpu")(a, b, c) is None
    assert (b.tolist(), c.tolist()) == ([5] * 3, [40] * 3)


def test_several_outputs_come_as_a_list():
    @tile.jit(target="cpu")
    def pair(A):
        n = T.const("n")
        A: T.Tensor((n,), T.float32)
        B = T.empty(n, dtype=T.float32)
        C = T.empty((n, 2), T.int8)
        with T.Kernel(n) as i:
            B[i] = -A[i]
            for j in range(2):
                C[i, j] = j
        return C, B

    c, b = pair(ones(3))
    assert (b.dtype, b.tolist()) == (np.float32, [-1] * 3)
    assert (c.dtype, c.tolist()) == (np.int8, [[0, 1]] * 3)


def test_a_kernel_tells_what_it_is(capsys, tmp_path):
    kernel = tile.compile(three, out_idx=[1, 2], target="cpu", debug_root_path=str(tmp_path))
    assert kernel.ir.startswith("func @three(") or "func @three(" in kernel.ir
    assert "results (B, C)" in kernel.ir
    source = kernel.get_kernel_source()
    assert source == kernel.source_path.read_text()
    assert "three" in source
    assert [p.name for p in kernel.params] == ["A", "B", "C"]
    assert set(kernel.timings) >= {"key", "load"}
    assert kernel.explain() == capsys.readouterr().out.rstrip("\n")
    assert "kernel three(A, B, C) for cpu" in repr(kernel)
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".c", ".tir"]
    assert "func @three(" in three.script()


def test_a_second_compilation_comes_from_the_cache():
    first = tile.compile(three, out_idx=[0], target="cpu")
    second = tile.compile(three, out_idx=[0], target="cpu")
    assert second.compiled.cached
    assert second.get_kernel_source() == first.get_kernel_source()


def test_compiling_without_running():
    kernel = scaled.compile(n=16)
    assert kernel(ones(16)).tolist() == [2] * 16
    assert "n" not in [d.name for d in kernel.function.dims]
    assert kernel.get_kernel_source() == scaled.get_kernel_source(n=16)


def test_compiling_several_at_once():
    funcs = [lazy_sum.get_tir(n) for n in (3, 4, 5, 6)]
    kernels = tile.par_compile(funcs, out_idx=-1, target="cpu")
    assert [k(ones(n), ones(n)).shape for k, n in zip(kernels, (3, 4, 5, 6), strict=True)] == [
        (3,),
        (4,),
        (5,),
        (6,),
    ]


def test_many_threads_may_call_one_kernel():
    results = {}

    def work(n):
        results[n] = [scaled(np.full(n, k, np.float32)) for k in range(20)]

    threads = [threading.Thread(target=work, args=(n,)) for n in (3, 50, 64, 65)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, made in results.items():
        for k, b in enumerate(made):
            np.testing.assert_array_equal(b, np.full(n, 2 * k))


def test_strict_numerics_keep_the_order_of_a_sum():
    """0.1 added a thousand times in order differs from any tree."""

    def total(n):
        @T.prim_func
        def kernel(A: T.Tensor((n,), T.float32)):
            B = T.empty((1,), T.float32)
            with T.Kernel(1):
                x = T.alloc_fragment((n,), T.float32)
                s = T.alloc_fragment((1,), T.float32)
                T.copy(A, x)
                T.reduce_sum(x, s)
                T.copy(s, B)
            return B

        return kernel

    a = np.full(1000, 0.1, np.float32)
    b = tile.compile(total(1000), target="cpu", numerics="strict")(a)
    in_order = np.float32(0)
    for x in a:
        in_order = np.float32(in_order + x)
    assert b[0] == in_order


@pytest.mark.parametrize(
    "target", ["cpu", "cpu -arch=x86-64-v3", "cpu -arch=x86-64-v2", {"kind": "cpu"}]
)
def test_targets(target):
    from tile_cpu.spec.host import host_arch

    if "v" in str(target) and "aarch64" in str(host_arch()):
        pytest.skip("this machine runs other code")
    kernel = tile.compile(three, out_idx=[1, 2], target=target)
    b, c = kernel(np.arange(40, dtype=np.int32))
    np.testing.assert_array_equal(b, np.arange(1, 41))
    np.testing.assert_array_equal(c, np.arange(0, 400, 10))


@tile.jit(target="cpu")
def halved(A):
    n = T.const("n")
    A: T.Tensor((n,), T.float32)
    B = T.empty((n,), T.float32)
    with T.Kernel(1):
        for i in T.Parallel(n):
            B[i] = A[i] / 2
    return B


def test_kernels_cross_to_other_processes():
    kernel = halved.compile(n=6)
    again = pickle.loads(pickle.dumps(kernel))
    assert again.ir == kernel.ir
    assert again.compiled.cached
    assert again.source_path == kernel.source_path
    x = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(again(x), x / 2)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        np.testing.assert_array_equal(pool.submit(kernel, x).result(60), x / 2)
