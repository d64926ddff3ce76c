"""Cross entropy of logits and labels, forward and backward, without writing probabilities.

The loss of a row is the logarithm of the sum of exponentials less the logit of its label; that
logarithm is kept, so the backward kernel needs a single pass: softmax less one at the label.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def forward(X, label, dtype=T.float16, width=512):
    """Losses and logarithms of sums, [M] each, of logits [M, N] and labels [M]."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    label: T.Tensor((M,), T.int32)
    loss = T.empty((M,), T.float32)
    lse = T.empty((M,), T.float32)
    with T.Kernel(M, threads=128) as row:
        x = T.alloc_fragment((1, width), T.float32)
        top, before = (T.alloc_fragment((1,), T.float32) for _ in range(2))
        part, total = (T.alloc_fragment((1,), T.float32) for _ in range(2))
        T.fill(top, -T.infinity(T.float32))
        T.clear(total)
        for k in T.serial(T.ceildiv(N, width)):
            for i, j in T.Parallel(1, width):
                inside = k * width + j < N
                x[i, j] = T.if_then_else(inside, X[row, k * width + j], -T.infinity(T.float32))
            T.copy(top, before)
            T.reduce_max(x, top, dim=1, clear=False)
            for i, j in T.Parallel(1, width):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, part, dim=1)
            for i in T.Parallel(1):
                total[i] = total[i] * T.exp(before[i] - top[i]) + part[i]
        for i in T.Parallel(1):
            total[i] = top[i] + T.log(total[i])
            lse[row] = total[i]
            loss[row] = total[i] - X[row, label[row]]
    return loss, lse


@tile.jit
def backward(X, label, lse, dloss, dtype=T.float16, width=512):
    """The gradient of logits [M, N], of gradients of the losses [M]."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    label: T.Tensor((M,), T.int32)
    lse: T.Tensor((M,), T.float32)
    dloss: T.Tensor((M,), T.float32)
    dX = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, width), M, threads=128) as (block, row):
        for j in T.Parallel(width):
            column = block * width + j
            if column < N:
                chosen = T.if_then_else(column == label[row], 1.0, 0.0)
                dX[row, column] = (T.exp(X[row, column] - lse[row]) - chosen) * dloss[row]
    return dX


def log_of_sum(x):
    top = x.max(axis=1)
    return top + np.log(np.exp(x - top[:, None]).sum(axis=1))


def forward_reference(x, label):
    lse = log_of_sum(x)
    return lse - x[np.arange(len(x)), label], lse


def backward_reference(x, label, dloss):
    p = np.exp(x - log_of_sum(x)[:, None])
    p[np.arange(len(x)), label] -= 1
    return p * dloss[:, None]


def inputs(rng, dtype):
    labels = rng.integers(0, N, M).astype(np.int32)
    return normal(rng, M, N, dtype=dtype), labels


def with_gradients(rng, dtype):
    x, labels = inputs(rng, dtype)
    lse = log_of_sum(x.astype(np.float64)).astype(np.float32)
    return x, labels, lse, normal(rng, M)


M, N = 7, 1001
CASES = [
    Case(
        kernel=forward,
        inputs=lambda rng: inputs(rng, np.float16),
        reference=forward_reference,
        atol=sum_error(64),  # of a logarithm near 8, whose argument is good to a few units
    ),
    Case(
        kernel=backward,
        inputs=lambda rng: with_gradients(rng, np.float16),
        reference=lambda x, label, lse, dloss: backward_reference(x, label, dloss),
        rtol=unit(np.float16),
        atol=2.0**-24,  # the smallest step of float16
    ),
]

if __name__ == "__main__":
    main(CASES)
