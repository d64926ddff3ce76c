"""Control flow and names of a kernel: what is traced means what Python means."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.ops import For, If, Let, While
from tile_ir.rewrite import walk


def ran(func, **arrays):
    """The buffers after running a traced function by the oracle."""
    return run(func.function, arrays)


def kinds(func, cls):
    return [s for s in walk(func.function.body) if isinstance(s, cls)]


def test_branches_on_run_time_values_become_if():
    @T.prim_func
    def sign(A: T.Tensor((8,), T.int32), B: T.Tensor((8,), T.int32)):
        with T.Kernel(8) as i:
            v = A[i]
            if v > 0:
                B[i] = 1
            elif v < 0:
                B[i] = -1
            else:
                B[i] = 0

    a = np.array([3, -2, 0, 7, -9, 0, 1, -1], np.int32)
    out = ran(sign, A=a, B=np.full(8, 99, np.int32))
    np.testing.assert_array_equal(out["B"], np.sign(a))
    assert len(kinds(sign, If)) == 2


def test_python_loops_leave_no_trace():
    @T.prim_func
    def unrolled(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            for n in range(8):
                if n == 2:
                    continue
                if n == 5:
                    break
                B[n] = n * n

    assert kinds(unrolled, (For, If)) == []
    out = ran(unrolled, B=np.full(8, -1, np.int32))
    np.testing.assert_array_equal(out["B"], [0, 1, -1, 9, 16, -1, -1, -1])


def test_loops_over_python_collections():
    @T.prim_func
    def several(B: T.Tensor((4,), T.float32)):
        with T.Kernel(1):
            for n, (name, factor) in enumerate(zip("abcd", (1.0, 2.0, 3.0, 4.0), strict=True)):
                B[n] = factor if name != "c" else -factor

    out = ran(several, B=np.zeros(4, np.float32))
    np.testing.assert_array_equal(out["B"], [1, 2, -3, 4])


def test_range_with_a_traced_bound_is_a_loop():
    @T.prim_func
    def triangle(B: T.Tensor((6,), T.int32)):
        with T.Kernel(6) as i:
            total = T.alloc_var(T.int32, init=0)
            for k in range(1, i + 1):
                total += k
            B[i] = total

    assert len(kinds(triangle, For)) == 1
    out = ran(triangle, B=np.zeros(6, np.int32))
    np.testing.assert_array_equal(out["B"], [0, 1, 3, 6, 10, 15])


def test_while_break_continue():
    @T.prim_func
    def collatz(A: T.Tensor((6,), T.int32), B: T.Tensor((6,), T.int32)):
        with T.Kernel(6) as i:
            v = T.alloc_var(T.int32, init=A[i])
            steps = T.alloc_var(T.int32, init=0)
            while v != 1:
                steps += 1
                if steps > 20:
                    break
                if v % 2 == 0:
                    v = v // 2
                    continue
                v = 3 * v + 1
            B[i] = steps

    assert len(kinds(collatz, While)) == 1
    a = np.array([1, 2, 3, 6, 7, 27], np.int32)
    out = ran(collatz, A=a, B=np.zeros(6, np.int32))
    np.testing.assert_array_equal(out["B"], [0, 1, 7, 8, 16, 21])


def test_boolean_operators_are_lazy():
    @T.prim_func
    def guarded(A: T.Tensor((4,), T.int32), B: T.Tensor((4,), T.int32)):
        with T.Kernel(4) as i:
            S = T.alloc_shared((4,), T.int32)
            T.copy(A, S)
            inside = i > 0 and S[i - 1] > 1
            B[i] = 1 if inside or not (i < 3) else 0

    a = np.array([5, 0, 9, 0], np.int32)
    out = ran(guarded, A=a, B=np.zeros(4, np.int32))
    np.testing.assert_array_equal(out["B"], [0, 1, 0, 1])


def test_chained_comparison_evaluates_the_middle_once():
    calls = []

    def middle(v):
        calls.append(v)
        return v

    @T.prim_func
    def between(A: T.Tensor((6,), T.int32), B: T.Tensor((6,), T.bool)):
        with T.Kernel(6) as i:
            B[i] = 1 < middle(A[i]) <= 4

    assert len(calls) == 1
    out = ran(between, A=np.arange(6, dtype=np.int32), B=np.zeros(6, bool))
    np.testing.assert_array_equal(out["B"], [False, False, True, True, True, False])


def test_swap_of_mutable_scalars_reads_before_it_writes():
    @T.prim_func
    def fibonacci(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            a = T.alloc_var(T.int32, init=0)
            b = T.alloc_var(T.int32, init=1)
            for k in T.serial(8):
                B[k] = a
                a, b = b, a + b

    out = ran(fibonacci, B=np.zeros(8, np.int32))
    np.testing.assert_array_equal(out["B"], [0, 1, 1, 2, 3, 5, 8, 13])


def test_a_second_name_of_a_mutable_scalar_keeps_its_value():
    @T.prim_func
    def aliased(B: T.Tensor((2,), T.int32)):
        with T.Kernel(1):
            x = T.alloc_var(T.int32, init=5)
            before = x
            x = 7
            B[0] = before
            B[1] = x

    out = ran(aliased, B=np.zeros(2, np.int32))
    np.testing.assert_array_equal(out["B"], [5, 7])


def test_a_named_element_is_read_once():
    @T.prim_func
    def moved(A: T.Tensor((2,), T.int32)):
        with T.Kernel(1):
            old = A[0]
            A[0] = A[1]
            A[1] = old

    assert [s.var.name for s in kinds(moved, Let)] == ["old"]
    out = ran(moved, A=np.array([3, 4], np.int32))
    np.testing.assert_array_equal(out["A"], [4, 3])


def test_lists_of_values_hold_what_was_read():
    @T.prim_func
    def rotated(A: T.Tensor((3,), T.int32)):
        with T.Kernel(1):
            old = [A[n] for n in range(3)]
            for n in range(3):
                A[n] = old[n - 1]

    out = ran(rotated, A=np.array([1, 2, 3], np.int32))
    np.testing.assert_array_equal(out["A"], [3, 1, 2])


def test_lists_of_mutable_scalars_are_stored_to():
    @T.prim_func
    def counted(A: T.Tensor((8,), T.int32), B: T.Tensor((2,), T.int32)):
        with T.Kernel(1):
            count = [T.alloc_var(T.int32, init=0) for _ in range(2)]
            for i in T.serial(8):
                for n in range(2):
                    if A[i] == n:
                        count[n] += 1
            for n in range(2):
                B[n] = count[n]

    a = np.array([0, 1, 1, 5, 0, 1, 1, 2], np.int32)
    out = ran(counted, A=a, B=np.zeros(2, np.int32))
    np.testing.assert_array_equal(out["B"], [2, 4])


def test_a_name_that_only_starts_a_tile_leaves_no_read():
    @T.prim_func
    def tiled(A: T.Tensor((64, 64), T.float32), B: T.Tensor((64, 64), T.float32)):
        with T.Kernel(2, 2) as (bx, by):
            corner = A[by * 32, bx * 32]
            S = T.alloc_shared((32, 32), T.float32)
            T.copy(corner, S)
            T.copy(S, B[by * 32, bx * 32])

    assert kinds(tiled, Let) == []
    a = np.random.default_rng(0).random((64, 64), np.float32)
    out = ran(tiled, A=a, B=np.zeros_like(a))
    np.testing.assert_array_equal(out["B"], a)


def test_names_are_kept_and_made_unique():
    @T.prim_func
    def named(A: T.Tensor((8,), T.float32)):
        with T.Kernel(1) as block:
            for k in T.serial(4):
                A[k] = 0.0
            for k in T.serial(4):
                A[k + 4] = 1.0
            a_s, b_s = T.alloc_shared((4,), T.float32), T.alloc_shared((4,), T.float16)
            T.clear(a_s)
            T.copy(a_s, b_s)
            assert block is not None

    loops = [s.var.name for s in kinds(named, For)]
    assert loops == ["k", "k_1"]
    assert "alloc a_s: shared f32[4]" in named.script()
    assert "alloc b_s: shared f16[4]" in named.script()


def test_statements_carry_the_place_of_their_line():
    @T.prim_func
    def placed(A: T.Tensor((8,), T.float32)):
        with T.Kernel(1):
            if A[0] > 0:
                A[1] = 1.0
            else:
                A[2] = 2.0

    (branch,) = kinds(placed, If)
    first = branch.span.line
    assert [s.span.line - first for s in (branch.then[0], branch.orelse[0])] == [1, 3]
    assert branch.span.file == __file__


def test_values_that_only_python_holds_are_never_read_anew():
    def appended(A):
        kept = []
        kept.append(A[0])
        A[0] = 5
        A[1] = kept[0]

    def carried(A):
        kept = {"first": A[0] + 1}
        for _ in T.serial(3):
            A[1] = kept["first"]
            A[0] = 0

    def viewed(A):
        S = T.alloc_shared((4,), T.int32)
        V = T.view(S, (2, 2))
        kept = []
        kept.append(S[0])
        T.fill(V, 0)
        A[0] = kept[0]

    for body in (appended, carried, viewed):
        traced = T.macro(body)
        with pytest.raises(TileError) as raised:

            @T.prim_func
            def kernel(A: T.Tensor((4,), T.int32)):
                with T.Kernel(1):
                    traced(A)  # noqa: B023 -- called at once

        assert raised.value.code == "E1214", body.__name__


def test_values_used_before_memory_changes_need_no_name():
    @T.prim_func
    def kernel(A: T.Tensor((4,), T.int32)):
        with T.Kernel(1):
            kept = []
            kept.append(A[0])
            kept.append(A[1] * 2)
            A[3] = sum(kept)
            for _ in T.serial(2):
                A[2] = A[2] + 1

    out = ran(kernel, A=np.array([1, 2, 3, 4], np.int32))
    np.testing.assert_array_equal(out["A"], [1, 2, 5, 5])


def test_assert_of_traced_values_is_checked_when_it_runs():
    @T.prim_func
    def checked(A: T.Tensor((4,), T.float32), n: T.int32):
        assert n > 0, "n must be positive"
        with T.Kernel(1):
            A[0] = 1.0

    assert 'assert n > 0, "n must be positive"' in checked.script()
    with pytest.raises(TileError):
        run(checked.function, {"A": np.zeros(4, np.float32), "n": 0})


def test_attributes_and_closures_are_plain_python():
    class Shape:
        rows = 4

    shape = Shape()

    @T.prim_func
    def captured(A: T.Tensor((4,), T.int32)):
        with T.Kernel(1):
            shape.seen = shape.rows * 2
            for n in range(shape.rows):
                A[n] = shape.seen

    assert shape.seen == 8
    out = ran(captured, A=np.zeros(4, np.int32))
    np.testing.assert_array_equal(out["A"], [8, 8, 8, 8])
