"""Routing of tokens to experts: the k best of the router's logits, and places for the choices.

The first kernel chooses experts, weighs them by a softmax over the chosen, and counts choices for
each expert. The second gives every choice a place in its expert's stretch, so that a grouped
product reads contiguous rows: a block for each expert scans the choices and numbers its own, in
their order.
"""

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def route(logits, count, k, tokens=8):
    """Weights [M, k] and experts [M, k] of logits [M, E]; count [E] grows by the choices."""
    M, E = T.const("M, E")
    logits: T.Tensor((M, E), T.float32)
    count: T.Tensor((E,), T.int32)
    weight = T.empty((M, k), T.float32)
    expert = T.empty((M, k), T.int32)
    with T.Kernel(T.ceildiv(M, tokens), threads=128) as block:
        x = T.alloc_fragment((tokens, E), T.float32)
        index = T.alloc_fragment((tokens, E), T.int32)
        top = T.alloc_fragment((tokens,), T.float32)
        best = T.alloc_fragment((tokens,), T.int32)
        total = T.alloc_fragment((tokens,), T.float32)
        chosen = T.alloc_fragment((tokens, k), T.float32)
        T.copy(logits[block * tokens, 0], x)
        for turn in range(k):
            T.reduce_max(x, top, dim=1)
            for i, e in T.Parallel(tokens, E):
                index[i, e] = T.if_then_else(x[i, e] == top[i], e, E)
            T.reduce_min(index, best, dim=1)
            for i, e in T.Parallel(tokens, E):
                x[i, e] = T.if_then_else(e == best[i], -T.infinity(T.float32), x[i, e])
            for i in T.Parallel(tokens):
                chosen[i, turn] = top[i]
                if block * tokens + i < M:
                    expert[block * tokens + i, turn] = best[i]
                    T.atomic_add(count[best[i]], 1)
        T.reduce_max(chosen, top, dim=1)
        for i, j in T.Parallel(tokens, k):
            chosen[i, j] = T.exp(chosen[i, j] - top[i])
        T.reduce_sum(chosen, total, dim=1)
        for i, j in T.Parallel(tokens, k):
            chosen[i, j] /= total[i]
        T.copy(chosen, weight[block * tokens, 0])
    return weight, expert


@tile.jit
def place(count, expert, width=256):
    """Where the stretch of each expert starts, the place of every choice, and its inverse."""
    E, n = T.const("E, n")
    count: T.Tensor((E,), T.int32)
    expert: T.Tensor((n,), T.int32)
    start = T.empty((E,), T.int32)
    at = T.empty((n,), T.int32)
    source = T.empty((n,), T.int32)
    with T.Kernel(E, threads=128) as e:
        before = T.alloc_fragment((E,), T.int32)
        own, until = (T.alloc_shared((width,), T.int32) for _ in range(2))
        given, part = (T.alloc_fragment((1,), T.int32) for _ in range(2))
        for i in T.Parallel(E):
            before[i] = T.if_then_else(i < e, count[i], 0)
        T.reduce_sum(before, given, dim=0)
        T.copy(given, start[e])
        for s in T.serial(T.ceildiv(n, width)):
            for i in T.Parallel(width):
                chosen = s * width + i < n and expert[s * width + i] == e
                own[i] = T.if_then_else(chosen, 1, 0)
            T.cumsum(own, until, dim=0)
            for i in T.Parallel(width):
                if own[i] == 1:
                    at[s * width + i] = given[0] + until[i] - 1
                    source[given[0] + until[i] - 1] = s * width + i
            T.reduce_sum(own, part, dim=0)
            for i in T.Parallel(1):
                given[i] += part[i]
    return start, at, source


def route_reference(logits, k):
    expert = np.argsort(-logits, axis=1, kind="stable")[:, :k]
    chosen = np.take_along_axis(logits, expert, axis=1)
    e = np.exp(chosen - chosen.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True), expert


def with_count(logits, k):
    weight, expert = route_reference(logits, k)
    return weight, expert, np.bincount(expert.ravel(), minlength=logits.shape[1])


def place_reference(count, expert):
    source = np.argsort(expert, kind="stable")
    return np.cumsum(count) - count, np.argsort(source), source


def choices(rng, n, experts):
    expert = rng.integers(0, experts, n).astype(np.int32)
    return np.bincount(expert, minlength=experts).astype(np.int32), expert


CASES = [
    Case(
        kernel=route,
        inputs=lambda rng: (3 * normal(rng, 50, 60), np.zeros(60, np.int32)),
        reference=lambda logits, count: with_count(logits, 4),
        options={"k": 4},
        writes=(1,),
        rtol=16 * unit(np.float32),
        name="4 of 60",
    ),
    Case(
        kernel=place,
        inputs=lambda rng: choices(rng, 1001, 20),
        reference=place_reference,
        name="1001 among 20",
    ),
]

if __name__ == "__main__":
    main(CASES)
