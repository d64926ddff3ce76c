"""Kernels as operators of torch: schemas, tracing, gradients, export."""

import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError

torch = pytest.importorskip("torch", reason="operators of torch")

from tile_frontend.torch import op  # noqa: E402 -- it imports torch


@tile.jit(target="cpu")
def rms_norm(X, W, eps=1e-6, rows=4):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    W: T.Tensor((N,), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, rows)) as b:
        x = T.alloc_fragment((rows, N), T.float32)
        square = T.alloc_fragment((rows, N), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.copy(X[b * rows, 0], x)
        for i, j in T.Parallel(rows, N):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, total, dim=1)
        for i, j in T.Parallel(rows, N):
            x[i, j] = x[i, j] * T.rsqrt(total[i] / N + eps) * W[j]
        T.copy(x, Y[b * rows, 0])
    return Y


@tile.jit(target="cpu")
def matmul(A, B, block=32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float32)
    B: T.Tensor((K, N), T.float32)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block)) as (bx, by):
        a = T.alloc_shared((block, block), T.float32)
        b = T.alloc_shared((block, block), T.float32)
        c = T.alloc_fragment((block, block), T.float32)
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
            T.copy(A[by * block, k * block], a)
            T.copy(B[k * block, bx * block], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * block, bx * block])
    return C


@tile.jit(target="cpu")
def accumulate(X, S, scale=2):
    n = T.const("n")
    X: T.Tensor((n,), T.float32)
    S: T.Tensor((n,), T.float32)
    with T.Kernel(1):
        for i in T.Parallel(n):
            S[i] = S[i] + X[i] * scale


@T.prim_func
def split(X: T.Tensor((T.dynamic("n"),), T.float32), factor: T.float32):
    n = X.shape[0]
    High = T.empty((n,), T.float32)
    Low = T.empty((n,), T.int32)
    with T.Kernel(T.ceildiv(n, 64)) as b:
        for i in T.Parallel(64):
            High[b * 64 + i] = T.floor(X[b * 64 + i] * factor)
            Low[b * 64 + i] = T.cast(X[b * 64 + i], "int32")
    return High, Low


def reference_norm(x, w, eps=1e-6):
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + eps) * w


@pytest.fixture(scope="module")
def ops():
    norm = op(rms_norm, "e2e::rms_norm", rows=4)
    product = op(matmul, "e2e::matmul", block=16)

    def norm_backward(grad, x, w, y):
        scale = torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6)
        of_w = (grad * x * scale).sum(0)
        weighted = grad * w
        mean = (weighted * x).mean(1, keepdim=True)
        return weighted * scale - x * scale**3 * mean, of_w

    norm.register_backward(norm_backward, saves=("X", "W", "out0"))

    def product_backward(grad, a, b):
        return product(grad, b.t().contiguous()), product(a.t().contiguous(), grad)

    product.register_backward(product_backward)
    return norm, product


def test_schemas():
    compiled = op(tile.compile(split, target="cpu"))
    assert str(compiled.schema) == "(Tensor X, float factor) -> (Tensor, Tensor)"
    updating = op(accumulate, mutates=("S",))
    assert str(updating.schema) == "(Tensor X, Tensor(a1!) S, SymInt scale=2) -> ()"
    assert updating.name == "tile::accumulate"
    assert op(accumulate, mutates=("S",), scale=3).name == "tile::accumulate_2"
    assert repr(compiled).startswith("<operator tile::split(Tensor X")


def test_results_are_those_of_the_kernel(ops):
    norm, product = ops
    x, w = torch.randn(10, 24), torch.randn(24)
    torch.testing.assert_close(norm(x, w), reference_norm(x, w))
    torch.testing.assert_close(norm(x, w, eps=0.5), reference_norm(x, w, 0.5))
    b = torch.randn(24, 7)
    torch.testing.assert_close(product(x, b), x @ b, rtol=1e-5, atol=1e-5)
    high, low = op(tile.compile(split, target="cpu"))(torch.tensor([1.5, -2.5]), 2.0)
    assert high.tolist() == [3.0, -5.0]
    assert low.tolist() == [1, -2]


def test_arguments_are_changed_in_place():
    updating = op(accumulate, "e2e::accumulate", mutates=("S",))
    s = torch.ones(5)
    assert updating(torch.arange(5.0), s) is None
    assert s.tolist() == [1, 3, 5, 7, 9]
    compiled = torch.compile(lambda x, s: updating(x, s, 1), fullgraph=True, backend="aot_eager")
    compiled(torch.arange(5.0), s)
    assert s.tolist() == [1, 4, 7, 10, 13]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torch_finds_nothing_wrong(ops):
    norm, product = ops
    x = torch.randn(6, 16, requires_grad=True)
    w = torch.randn(16, requires_grad=True)
    b = torch.randn(16, 8, requires_grad=True)
    torch.library.opcheck(norm._torch, (x, w, 1e-6))
    torch.library.opcheck(product._torch, (x, b))
    updating = op(accumulate, "e2e::accumulate_checked", mutates=("S",))
    torch.library.opcheck(updating._torch, (torch.randn(4), torch.randn(4), 2))
    parts = op(tile.compile(split, target="cpu"), "e2e::split")
    torch.library.opcheck(parts._torch, (torch.randn(4), 2.0))


def test_gradients(ops):
    norm, product = ops
    x = torch.randn(6, 16, requires_grad=True)
    w = torch.randn(16, requires_grad=True)
    b = torch.randn(16, 8, requires_grad=True)
    found = torch.autograd.grad(product(norm(x, w), b).sin().sum(), (x, w, b))
    expected = torch.autograd.grad((reference_norm(x, w) @ b).sin().sum(), (x, w, b))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_a_model_without_a_graph_break_trains_as_in_eager_mode(ops):
    norm, product = ops

    class Model(torch.nn.Module):
        def __init__(self, norm, product):
            super().__init__()
            torch.manual_seed(0)
            self.gain = torch.nn.Parameter(torch.ones(16))
            self.weight = torch.nn.Parameter(torch.randn(16, 8) / 4)
            self.norm, self.product = norm, product

        def forward(self, x):
            return torch.tanh(self.product(self.norm(x, self.gain), self.weight))

    ours = Model(norm, product)
    theirs = Model(reference_norm, torch.matmul)
    traced = torch.compile(ours, fullgraph=True, backend="aot_eager")
    x, y = torch.randn(12, 16), torch.randn(12, 8).clamp(-1, 1)
    losses = []
    for run, model in ((traced, ours), (theirs, theirs)):
        optimizer = torch.optim.SGD(model.parameters(), 0.5)
        losses.append([])
        for _ in range(20):
            loss = (run(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[0][-1] < 0.9 * losses[0][0]
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-4, atol=1e-5)


def test_export(ops):
    norm, product = ops

    class Module(torch.nn.Module):
        def forward(self, x, w, b):
            return product(norm(x, w), b)

    args = (torch.randn(6, 16), torch.randn(16), torch.randn(16, 8))
    exported = torch.export.export(Module(), args)
    assert {"e2e.rms_norm.default", "e2e.matmul.default"} <= {
        str(n.target) for n in exported.graph.nodes
    }
    torch.testing.assert_close(exported.module()(*args), Module()(*args))


def test_dynamic_sizes_stay_dynamic():
    parts = op(tile.compile(split, target="cpu"), "e2e::split_dynamic")
    traces = []

    def backend(graph, inputs):
        traces.append(len(inputs))
        return graph

    run = torch.compile(lambda x: parts(x, 2.0)[0], fullgraph=True, backend=backend, dynamic=True)
    for n in (5, 64, 130):
        x = torch.randn(n)
        torch.testing.assert_close(run(x), torch.floor(x * 2))
    assert len(traces) == 1


def refused(code, f, *args, **kwargs):
    with pytest.raises(TileError) as info:
        f(*args, **kwargs)
    assert info.value.code == code
    return info.value


def test_a_tuned_kernel_keeps_its_tuner(monkeypatch, tmp_path):
    """What a call leaves out is the tuner's choice, also in a traced program."""
    import tile_tune

    monkeypatch.setenv("TILE_TUNE", "cached")
    monkeypatch.setenv("TILE_TUNE_DATABASE", str(tmp_path / "t.sqlite3"))
    tuned = tile_tune.autotune(configs={"block": [16, 32]}, bucket="power-of-two")(matmul)
    asked = []
    monkeypatch.setattr(tuned, "_chosen", lambda args, kwargs: asked.append(args) or matmul)
    product = op(tuned, "e2e::tuned_matmul")
    a, b = torch.randn(9, 24), torch.randn(24, 7)
    torch.testing.assert_close(product(a, b), a @ b, rtol=1e-5, atol=1e-5)
    run = torch.compile(product, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(run(a, b), a @ b, rtol=1e-5, atol=1e-5)
    assert [len(args) for args in asked] == [2]
    refused("E2030", op, lambda x: x)


def test_what_cannot_be_an_operator(ops):
    @tile.jit(target="cpu")
    def untyped(X, block):
        n = T.const("n")
        X: T.Tensor((n,), T.float32)
        with T.Kernel(1):
            X[0] = 0.0

    assert "nothing says what type 'block' has" in refused("E2030", op, untyped).message
    assert "mutates names Z" in refused("E2030", op, accumulate, mutates=("Z",)).message
    refused("E2031", op, accumulate, "no namespace")
    refused("E2031", op, accumulate, "e2e::rms_norm")
    refused("E2031", op, accumulate, "e2e::of::three")
    refused("E2031", op, accumulate, "aten::add")
    hidden = op(accumulate, "e2e::hidden")
    error = refused("E2032", hidden, torch.zeros(3), torch.zeros(3), 1)
    assert "mutates=['S']" in error.help
    norm, _ = ops
    refused("E2033", norm.register_backward, rms_norm, saves=("Q",))
    updating = op(accumulate, "e2e::accumulate_backward", mutates=("S",))
    refused("E2033", updating.register_backward, lambda g: g)
    one = op(rms_norm, "e2e::one_gradient").register_backward(lambda g, x, w: g)
    out = one(torch.ones(3, 4, requires_grad=True), torch.ones(4))
    assert "1 gradients, not 2" in refused("E2033", out.sum().backward).message
