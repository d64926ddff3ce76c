"""Operations on tiles read everything before they write: also within one buffer."""

import numpy as np
import pytest

import tile_frontend.language as T

SCOPES = {
    "shared": T.alloc_shared,
    "fragment": T.alloc_fragment,
    "local": T.alloc_local,
}
N = 36


def shifted_down(x):
    return np.concatenate([x[:1], x[:-1]])


def shifted_up(x):
    return np.concatenate([x[1:], x[-1:]])


@T.macro
def shift_down(x):
    T.copy(x[0 : N - 1, :], x[1:N, :])


@T.macro
def shift_up(x):
    T.copy(x[1:N, :], x[0 : N - 1, :])


@T.macro
def turn(x):
    T.transpose(x, x)


@T.macro
def add_rows(x):
    T.reduce_sum(x, x[3, :], dim=0)


@T.macro
def move_far(x):
    T.copy(x[0:18, :], x[18:36, :])


def with_row_of_sums(x):
    made = x.copy()
    made[3] = x.sum(0)
    return made


MOVES = {
    "down": (shift_down, shifted_down),
    "up": (shift_up, shifted_up),
    "transpose": (turn, np.transpose),
    "sums": (add_rows, with_row_of_sums),
    "far": (move_far, lambda x: np.concatenate([x[:18], x[:18]])),
}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("move", MOVES)
def test_a_tile_is_moved_within_itself(run, rng, scope, move):
    of_tile, of_array = MOVES[move]

    @T.prim_func
    def kernel(A: T.Tensor((2, N, N), T.int32)):
        B = T.empty((2, N, N), T.int32)
        with T.Kernel(2, threads=128) as bx:
            x = SCOPES[scope]((N, N), T.int32)
            T.copy(A[bx, 0, 0], x)
            of_tile(x)
            T.copy(x, B[bx, 0, 0])
        return B

    a = rng.integers(-1000, 1000, (2, N, N), dtype=np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, np.stack([of_array(x) for x in a]))


def test_a_window_slides(run, rng):
    """By an amount that only the loop knows."""

    @T.prim_func
    def kernel(A: T.Tensor((20, 8), T.float32)):
        B = T.empty((4, 12, 8), T.float32)
        with T.Kernel(1, threads=64):
            x = T.alloc_shared((12, 8), T.float32)
            T.copy(A[0, 0], x)
            for k in T.serial(4):
                T.copy(x[k : k + 8, :], x[0:8, :])
                T.copy(A[12 + k, 0], x[11:12, :])
                T.copy(x, B[k, 0, 0])
        return B

    a = rng.standard_normal((20, 8), dtype=np.float32)
    (b,) = run(kernel, a)
    x = a[:12].copy()
    for k in range(4):
        x[:8] = x[k : k + 8].copy()
        x[11] = a[12 + k]
        np.testing.assert_array_equal(b[k], x)


def test_a_view_is_moved_into_what_it_views(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((8, 16), T.float32)):
        B = T.empty((8, 16), T.float32)
        with T.Kernel(1, threads=64):
            x = T.alloc_shared((8, 16), T.float32)
            turned = T.reshape(x, (16, 8))
            T.copy(A, x)
            T.transpose(turned, x)
            T.copy(x, B)
        return B

    a = rng.standard_normal((8, 16), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.reshape(16, 8).T)


def test_rows_of_a_tensor_are_moved_by_one_block(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((9, 40), T.float32)):
        with T.Kernel(1, threads=64):
            T.copy(A[0:8, :], A[1:9, :])

    a = rng.standard_normal((9, 40), dtype=np.float32)
    np.testing.assert_array_equal(run(kernel, a).args[0], shifted_down(a))
