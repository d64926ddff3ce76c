"""Loops and control flow: what Python's words mean in a kernel, and the loops of the language."""

from pathlib import Path

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T

N = T.dynamic("N")


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [(0, 5, 1), (2, 9, 3), (9, 2, -3), (5, 5, 1), (5, 2, 1), (-3, 4, 2), (3, -1, -1)],
)
def test_serial_loops_visit_what_range_does(run, start, stop, step):
    @T.prim_func
    def kernel(n: T.int32):
        out = T.empty((3, 16), T.int32)
        with T.Kernel(1):
            T.fill(out, 99)
            at = T.alloc_var(T.int32, init=0)
            for i in T.serial(start, stop, step):
                out[0, at] = i
                at += 1
            at = 0
            for i in range(start + n, stop + n, step):
                out[1, at] = i
                at += 1
            at = 0
            for i in T.unroll(start, stop, step):
                out[2, at] = i
                at += 1
        return out

    (out,) = run(kernel, 0)
    visited = list(range(start, stop, step))
    assert out.tolist() == [visited + [99] * (16 - len(visited))] * 3


def test_parallel_loops_over_boxes_of_any_rank(run):
    @T.prim_func
    def kernel(A: T.Tensor((2, 3, 4), T.int32), B: T.Tensor((N,), T.int32)):
        with T.Kernel(1):
            for i, j, k in T.Parallel(2, 3, 4):
                A[i, j, k] = i * 100 + j * 10 + k
            for i in T.Parallel(N, coalesced_width=2):
                B[i] = i * i

    outcome = run(kernel, np.zeros((2, 3, 4), np.int32), np.zeros(7, np.int32))
    i, j, k = np.indices((2, 3, 4))
    np.testing.assert_array_equal(outcome.args[0], i * 100 + j * 10 + k)
    assert outcome.args[1].tolist() == [0, 1, 4, 9, 16, 25, 36]


def test_loops_inside_a_parallel_loop(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((8, N), T.float32)):
        B = T.empty((8,), T.float32)
        with T.Kernel(1):
            x = T.alloc_fragment((8,), T.float32)
            for i in T.Parallel(8):
                x[i] = 0.0
                for k in T.serial(N):
                    x[i] += A[i, k]
            T.copy(x, B)
        return B

    a = rng.standard_normal((8, 13), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_allclose(b, a.sum(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-6)


def test_grid_and_nested_vectorized_loops(run):
    @T.prim_func
    def kernel(A: T.Tensor((6, 8), T.float32)):
        B = T.empty((6, 8), T.float32)
        with T.Kernel(1):
            x = T.alloc_local((8,), T.float32)
            for i, j in T.grid(3, 2):
                for v in T.vectorized(8):
                    x[v] = A[i * 2 + j, v]
                for v in T.vectorized(8):
                    B[i * 2 + j, v] = x[v] * 2.0
        return B

    a = np.arange(48, dtype=np.float32).reshape(6, 8)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.parametrize("factor", [None, 3])
def test_unrolled_loops(run, factor):
    @T.prim_func
    def kernel(A: T.Tensor((20,), T.int32)):
        with T.Kernel(1):
            for i in T.unroll(20, explicit=factor is None, unroll_factor=factor):
                A[i] = A[i] + i

    outcome = run(kernel, np.ones(20, np.int32))
    np.testing.assert_array_equal(outcome.args[0], 1 + np.arange(20))


@pytest.mark.parametrize(
    "schedule",
    [{"num_stages": n} for n in range(5)] + [{"order": [0, 1, 2], "stage": [0, 0, 1]}],
    ids=str,
)
@pytest.mark.parametrize("trips", [0, 1, 2, 7])
def test_pipelines_of_any_depth(run, rng, schedule, trips):
    @T.prim_func
    def kernel(A: T.Tensor((N, 16), T.float32)):
        B = T.empty((16,), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((16,), T.float32)
            y = T.alloc_shared((16,), T.float32)
            total = T.alloc_fragment((16,), T.float32)
            T.clear(total)
            for k in T.Pipelined(N, **schedule):
                T.copy(A[k, 0], x)
                T.copy(x, y)
                for i in T.Parallel(16):
                    total[i] = total[i] * 0.5 + y[i]
            T.copy(total, B)
        return B

    a = rng.standard_normal((trips, 16), dtype=np.float32)
    want = np.zeros(16, np.float32)
    for row in a:
        want = want * np.float32(0.5) + row
    (b,) = run(kernel, a)
    np.testing.assert_allclose(b, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("workers", [1, 3, 16])
@pytest.mark.parametrize("domain", [(1, 1), (4, 5), (3, 17)], ids=str)
def test_persistent_blocks_visit_every_tile_once(run, workers, domain):
    rows, columns = domain

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), T.int32)):
        with T.Kernel(workers) as block:
            for by, bx in T.Persistent([rows, columns], workers, block, group_size=4):
                T.atomic_add(A[by, bx], 1 + by * 100 + bx)

    outcome = run(kernel, np.zeros(domain, np.int32))
    by, bx = np.indices(domain)
    np.testing.assert_array_equal(outcome.args[0], 1 + by * 100 + bx)


def test_while_with_a_condition_of_run_time(run):
    """The length of Collatz' sequence."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32)):
        B = T.empty((N,), T.int32)
        with T.Kernel(N) as bx:
            n = T.alloc_var(T.int32, init=A[bx])
            steps = T.alloc_var(T.int32, init=0)
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                steps += 1
            B[bx] = steps
        return B

    (b,) = run(kernel, np.array([1, 2, 3, 7, 27], np.int32))
    assert b.tolist() == [0, 1, 7, 16, 111]


def test_break_and_continue(run):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32)):
        B = T.empty((2,), T.int32)
        with T.Kernel(1):
            first = T.alloc_var(T.int32, init=-1)
            positive = T.alloc_var(T.int32, init=0)
            for i in T.serial(N):
                if A[i] < 0:
                    first = i
                    break
            for i in T.serial(N):
                if A[i] <= 0:
                    continue
                positive += A[i]
            B[0] = first
            B[1] = positive
        return B

    (b,) = run(kernel, np.array([3, 0, 4, -1, 5, -9], np.int32))
    assert b.tolist() == [3, 12]
    (b,) = run(kernel, np.array([1], np.int32))
    assert b.tolist() == [-1, 1]


def test_branches_of_run_time(run):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32)):
        B = T.empty((N,), T.int32)
        with T.Kernel(N) as i:
            if A[i] < 0:
                B[i] = -1
            elif A[i] == 0:
                B[i] = 0
            elif 1 <= A[i] < 10:
                B[i] = 1
            else:
                B[i] = 2
            if A[i] > 100 and not (A[i] == 200 or A[i] == 300):
                B[i] = 3 if A[i] % 2 == 0 else 4
        return B

    (b,) = run(kernel, np.array([-5, 0, 1, 9, 10, 100, 101, 102, 200, 300], np.int32))
    assert b.tolist() == [-1, 0, 1, 1, 2, 2, 4, 3, 2, 2]


def test_lazy_operators_do_not_read_what_python_would_not(run):
    """The guarded element exists only where the guard holds; a zero divisor likewise."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32), B: T.Tensor((N,), T.int32)):
        C = T.empty((N,), T.int32)
        with T.Kernel(N) as i:
            C[i] = A[i] // B[i] if B[i] != 0 else -1
            if B[i] != 0 and A[i] % B[i] == 0:
                C[i] = C[i] + 1000
            C[i] = T.if_then_else(B[i] == 0, C[i], C[i] + 10000 // B[i])
        return C

    a, b = np.array([7, 8, 9, 5], np.int32), np.array([0, 4, -2, 3], np.int32)
    (c,) = run(kernel, a, b)
    assert c.tolist() == [-1, 2 + 1000 + 2500, -5 - 5000, 1 + 3333]


def test_branches_and_loops_over_python_values_run_while_tracing(run):
    weights = [1.0, 0.0, -2.0, 0.5]

    @T.prim_func
    def kernel(A: T.Tensor((N, 4), T.float32)):
        B = T.empty((N,), T.float32)
        with T.Kernel(N) as row:
            total = T.alloc_var(T.float32, init=0)
            for k, weight in enumerate(weights):
                if weight == 0:
                    continue
                total += A[row, k] * weight
            B[row] = total
        return B

    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a @ np.array(weights, np.float32))


def test_swap_reads_both_before_it_writes_either(run):
    @T.prim_func
    def kernel(A: T.Tensor((2,), T.int32)):
        B = T.empty((4,), T.int32)
        with T.Kernel(1):
            a = T.alloc_var(T.int32, init=A[0])
            b = T.alloc_var(T.int32, init=A[1])
            a, b = b, a
            B[0] = a
            B[1] = b
            A[0], A[1] = A[1], A[0]
            B[2], B[3] = A[0], A[1]
        return B

    outcome = run(kernel, np.array([5, 8], np.int32))
    assert outcome[0].tolist() == [8, 5, 8, 5]
    assert outcome.args[0].tolist() == [8, 5]


def test_a_name_keeps_the_value_that_it_was_bound_to(run):
    @T.prim_func
    def kernel(A: T.Tensor((4,), T.int32)):
        B = T.empty((2,), T.int32)
        with T.Kernel(1):
            old = A[0]
            A[0] = 7
            B[0] = old
            B[1] = A[0]
        return B

    (b,) = run(kernel, np.array([3, 0, 0, 0], np.int32))
    assert b.tolist() == [3, 7]


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)], ids=str)
def test_grids_of_one_to_three_axes(run, shape):
    @T.prim_func
    def kernel(A: T.Tensor(shape, T.int32)):
        with T.Kernel(*shape, threads=64) as blocks:
            index = blocks if isinstance(blocks, list) else [blocks]
            code = T.get_block_binding(0)
            for b in index[1:]:
                code = code * 10 + b
            A[tuple(index)] = code

    outcome = run(kernel, np.zeros(shape, np.int32))
    index = np.indices(shape)
    want = index[0]
    for axis in index[1:]:
        want = want * 10 + axis
    np.testing.assert_array_equal(outcome.args[0], want)


@pytest.mark.parametrize(
    "panel", [{"panel_size": 3}, {"panel_size": 4, "order": "column"}], ids=str
)
def test_the_order_of_tiles_changes_nothing(run, panel):
    @T.prim_func
    def kernel(A: T.Tensor((7, 9), T.int32)):
        with T.Kernel(9, 7) as (bx, by):
            T.use_swizzle(**panel)
            A[by, bx] += by * 10 + bx

    outcome = run(kernel, np.ones((7, 9), np.int32))
    by, bx = np.indices((7, 9))
    np.testing.assert_array_equal(outcome.args[0], 1 + by * 10 + bx)


def test_asserts_and_assumptions(run):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32)):
        with T.Kernel(N) as i:
            T.assume(A[i] >= 0)
            T.device_assert(A[i] < 100, "small numbers only")
            assert A[i] != 13, "bad luck"
            T.evaluate(A[i] + 1)
            A[i] = A[i] * 2

    outcome = run(kernel, np.array([1, 50, 99], np.int32))
    assert outcome.args[0].tolist() == [2, 100, 198]


def test_print(run, capfd):
    @T.prim_func
    def kernel(A: T.Tensor((2,), T.int32), x: T.float32):
        with T.Kernel(1):
            T.print("here")
            T.print(A[1] + 1, msg="the answer is")
            T.print(x * 2.0)
            half = T.alloc_fragment((2, 2), T.float16)
            T.fill(half, 1.5)
            T.print(half[1:2, 0:2], msg="a row")
            if A[0] > 100:
                T.print("not here")

    run(kernel, np.array([1, 41], np.int32), 0.25)
    lines = capfd.readouterr().out.splitlines()
    assert lines == [
        "here",
        "the answer is 42",
        "0.5",
        "a row",
        "half[1, 0] = 1.5",
        "half[1, 1] = 1.5",
    ]


def last_line(text):
    """The number of the last line of this file that starts with `text`."""
    lines = Path(__file__).read_text("utf-8").splitlines()
    found = [n for n, line in enumerate(lines, 1) if line.strip().startswith(text)]
    return found[-1]


def test_a_failed_assertion_says_where():
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32)):
        with T.Kernel(N) as i:
            assert A[i] != 13, "bad luck"
            A[i] = A[i] * 2

    line_of_the_assertion = last_line("assert A[i] != 13")
    made = tile.compile(kernel, target="cpu")
    with pytest.raises(tile.TileError, match="bad luck") as caught:
        made(np.array([1, 13, 3], np.int32))
    assert f"{Path(__file__).name}:{line_of_the_assertion}:" in str(caught.value)
    made(np.array([1, 12, 3], np.int32))
