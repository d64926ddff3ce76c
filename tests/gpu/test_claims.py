"""Tiles that blocks draw from a counter, on streams and in graphs that run side by side, and pairs
of blocks that bring an operand together."""

from pathlib import Path

import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gpu
LAUNCHES, REPLAYS = 1000, 100


@pytest.fixture(scope="module", autouse=True)
def _hopper(torch):
    requires("a Hopper GPU", torch.cuda.get_device_capability()[0] == 9)


@pytest.fixture(scope="module")
def measured():
    """The kernels of the benchmarks."""
    return module_at(Path(__file__).parents[2] / "benchmarks" / "gpu_kernels.py")


@pytest.fixture(scope="module")
def causal(torch, measured):
    """Causal attention whose tiles are drawn, and arguments of two problems with their results when
    nothing else runs: equal to the last bit, whoever computes a tile."""
    sizes = {"B": 2, "H": 8, "S": 1024, "D": 128}
    made = measured.kernel("attention").get_tir(**sizes, dtype="float16", causal=True)
    plan = {"attention.tiles.claim": "dynamic"}
    kernel = tile.compile(made, target="cuda", plan=plan)
    pairs = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        shape = tuple(sizes.values())
        args = [torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(3)]
        pairs.append((args, kernel(*args)))
        torch.cuda.synchronize()
    return kernel, pairs


def test_results_are_right(torch, causal, near):
    kernel, pairs = causal
    assert "tile_claim(drawn, " in kernel.get_kernel_source()
    attend = torch.nn.functional.scaled_dot_product_attention
    for args, want in pairs:
        near(want, attend(*(a.double() for a in args), is_causal=True), 2e-3)
        assert torch.equal(kernel(*args), want)


def test_two_streams_launch_a_thousand_times_each(torch, causal):
    kernel, pairs = causal
    streams = [torch.cuda.Stream() for _ in pairs]
    wrong = torch.zeros(len(pairs), device="cuda", dtype=torch.int64)
    torch.cuda.synchronize()
    for _ in range(LAUNCHES):
        for n, (stream, (args, want)) in enumerate(zip(streams, pairs, strict=True)):
            with torch.cuda.stream(stream):
                wrong[n] += (kernel(*args) != want).sum()
    torch.cuda.synchronize()
    assert wrong.tolist() == [0, 0]


def captured(torch, kernel, args):
    """A graph of one launch, and its result."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = kernel(*args)
    return graph, out


def test_graphs_replay_on_two_streams_beside_plain_launches(torch, causal):
    kernel, pairs = causal
    for args, _ in pairs:
        kernel(*args)  # loaded before the capture
    torch.cuda.synchronize()
    graphs = [captured(torch, kernel, args) for args, _ in pairs]
    streams = [torch.cuda.Stream() for _ in graphs]
    wrong = torch.zeros(len(graphs) + 1, device="cuda", dtype=torch.int64)
    for _ in range(REPLAYS):
        for n, (stream, (graph, out)) in enumerate(zip(streams, graphs, strict=True)):
            with torch.cuda.stream(stream):
                out.fill_(float("nan"))
                graph.replay()
                wrong[n] += (out != pairs[n][1]).sum()
        args, want = pairs[0]
        wrong[-1] += (kernel(*args) != want).sum()  # on the current stream, at the same time
    torch.cuda.synchronize()
    assert wrong.tolist() == [0, 0, 0]


def test_one_graph_replays_on_two_streams(torch, causal):
    """Replays of one graph follow each other, on whichever stream."""
    kernel, pairs = causal
    args, want = pairs[0]
    kernel(*args)
    torch.cuda.synchronize()
    graph, out = captured(torch, kernel, args)
    streams = [torch.cuda.Stream() for _ in range(2)]
    for n in range(REPLAYS):
        with torch.cuda.stream(streams[n % 2]):
            graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, want)


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("length", [64, 129, 1000])
def test_few_and_odd_tiles(torch, kernels, near, heads, length):
    plan = {"attention.tiles.claim": "dynamic"}
    shape = {"batch": 1, "heads": heads, "length": length, "dim": 64}
    made = kernels.attention.get_tir(**shape, dtype=T.float16, causal=True)
    kernel = tile.compile(made, target="cuda", plan=plan)
    args = [torch.randn(1, heads, length, 64, device="cuda").half() for _ in range(3)]
    want = torch.nn.functional.scaled_dot_product_attention(
        *(a.double() for a in args), is_causal=True
    )
    near(kernel(*args), want, 2e-3)


@pytest.mark.parametrize("claim", ["static", "dynamic", "hardware"])
@pytest.mark.parametrize("sizes", [(4096, 4096, 512), (1000, 2056, 264)])
def test_a_product_under_every_claim(torch, measured, near, claim, sizes):
    m, n, k = sizes
    a, b = (torch.randn(s, device="cuda").half() for s in ((m, k), (k, n)))
    kernel = measured.kernel("matmul", (("matmul.tiles.claim", claim),))
    for _ in range(3):  # a counter that is not zero again spoils the second launch
        near(kernel(a, b, T.float16), a.double() @ b.double(), 2e-3)


def test_the_planner_s_own_pairs(torch, measured, near):
    a, b = (torch.randn(8192, 8192, device="cuda").half() for _ in range(2))
    kernel = measured.kernel("matmul")
    made = kernel.get_tir(M=8192, N=8192, K=8192, dtype="float16")
    source = tile.compile(made, target="cuda").get_kernel_source()
    assert "__cluster_dims__(2, 1, 1)" in source
    near(kernel(a, b, T.float16)[:512], a[:512].double() @ b.double(), 2e-3)
