"""Kernels that begin before the kernel in front has ended: values are those of ordered launches."""

import pytest

import tile_frontend as tile
import tile_frontend.language as T

pytestmark = pytest.mark.gpu

LENGTH, TIMES = 1 << 16, 1000


@tile.jit(target="cuda")
def step(X, W, early=False, block=256):
    """Y[i] = X[n - 1 - i] * 3 + W[i]: every block needs what another one wrote."""
    N = T.const("N")
    X: T.Tensor((N,), T.int32)
    W: T.Tensor((N,), T.int32)
    Y = T.empty((N,), T.int32)
    with T.Kernel(T.ceildiv(N, block), threads=block) as b:
        if early:
            T.annotate_dependent_launch(W)
        for i in T.Parallel(block):
            Y[b * block + i] = X[N - 1 - (b * block + i)] * 3 + W[b * block + i]
    return Y


@tile.jit(target="cuda")
def product(A, W, early=False, stages=4):
    """A @ W.T, of which an engine brings tiles of both."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    W: T.Tensor((N, K), T.float16)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, 64), threads=128) as bx:
        if early:
            T.annotate_dependent_launch(W)
        A_s = T.alloc_shared((16, 128), T.float16)
        W_s = T.alloc_shared((64, 128), T.float16)
        C_t = T.alloc_fragment((64, 16), T.float32)
        T.clear(C_t)
        for k in T.Pipelined(T.ceildiv(K, 128), num_stages=stages):
            T.copy(W[bx * 64, k * 128], W_s)
            T.copy(A[0, k * 128], A_s)
            T.gemm(W_s, A_s, C_t, transpose_B=True)
        for j, i in T.Parallel(64, 16):
            C[i, bx * 64 + j] = C_t[j, i]
    return C


@pytest.fixture(autouse=True)
def poisoned_outputs():
    """Not here: fills between the kernels would put them in order."""


def chain(kernel, x, ws, times, early):
    for i in range(times):
        x = kernel(x, ws[i % len(ws)], early=early)
    return x


def graph_of(torch, call):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = call()
    return graph, out


def test_a_chain_of_a_thousand(torch):
    x, *ws = torch.randint(-1000, 1000, (4, LENGTH), dtype=torch.int32, device="cuda").unbind()
    want = x
    for i in range(TIMES):
        want = want.flip(0) * 3 + ws[i % 3]
    assert torch.equal(chain(step, x, ws, TIMES, early=False), want)
    assert torch.equal(chain(step, x, ws, TIMES, early=True), want)


def test_a_graph_keeps_the_order(torch):
    x, *ws = torch.randint(-1000, 1000, (4, LENGTH), dtype=torch.int32, device="cuda").unbind()
    want = chain(step, x, ws, 50, early=False)
    graph, out = graph_of(torch, lambda: chain(step, x, ws, 50, early=True))
    for _ in range(20):
        out.zero_()
        graph.replay()
        assert torch.equal(out, want)


def test_weights_that_an_engine_brings_early(torch):
    """Steps of products that each need the one in front, with few blocks and with a full device."""
    torch.manual_seed(0)
    for n in (1024, 8192):
        x = torch.randn(16, n, device="cuda").half()
        ws = [(torch.randn(n, n, device="cuda") / n**0.5).half() for _ in range(3)]
        want = chain(product, x, ws, 40, early=False)
        assert want.isfinite().all()
        for _ in range(10):
            assert torch.equal(chain(product, x, ws, 40, early=True), want)
        graph, out = graph_of(torch, lambda x=x, ws=ws: chain(product, x, ws, 40, early=True))
        for _ in range(10):
            out.zero_()
            graph.replay()
            assert torch.equal(out, want)


def test_a_kernel_in_order_behind_a_dependent_one(torch):
    x, w, u = torch.randint(-1000, 1000, (3, LENGTH), dtype=torch.int32, device="cuda").unbind()
    want = ((x.flip(0) * 3 + w).flip(0) * 3 + u).flip(0) * 3 + w
    for _ in range(200):
        assert torch.equal(step(step(step(x, w, early=True), u, early=True), w), want)
