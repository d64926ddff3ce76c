"""Calling kernels on a GPU: libraries, streams, graphs, devices, and what is refused."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend.profiler import do_bench
from tile_ir.diag import TileError
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gpu


HALF = {"dtype": T.float16, "out": T.float16, "accumulate": T.float32}


def code_of(call):
    with pytest.raises(TileError) as caught:
        call()
    return caught.value.code


def test_the_arrays_choose_the_target(torch, kernels):
    host = torch.arange(100, dtype=torch.float32)
    device = host.cuda()
    assert kernels.add(host, host, T.float32).device.type == "cpu"
    assert torch.equal(kernels.add(device, device, T.float32), device + device)


def test_a_named_target(torch, kernels):
    func = kernels.add.get_tir(dtype=T.float32)
    for target in ("cuda", "cuda -arch=" + str(tile.compile(func, target="cuda").target.spec.arch)):
        kernel = tile.compile(func, target=target)
        x = torch.ones(77, device="cuda")
        assert torch.equal(kernel(x, x), x + x)
        assert "__global__" in kernel.get_kernel_source()


def test_arrays_of_cupy(kernels):
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(1000, dtype=cupy.float32)
    got = kernels.add(x, x, T.float32)
    assert isinstance(got, cupy.ndarray)
    assert bool((got == 2 * x).all())


def test_the_current_stream_is_used(torch, kernels):
    x = torch.zeros(1 << 20, device="cuda")
    kernels.add(x, x, T.float32)  # compiled before anything is in flight
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # work on any other stream would see zeros
        x.fill_(3)
        got = kernels.add(x, x, T.float32)
    stream.synchronize()
    assert torch.equal(got, torch.full_like(got, 6))


def test_the_current_stream_of_cupy_is_used(kernels):
    cupy = pytest.importorskip("cupy")
    x = cupy.zeros(1 << 20, cupy.float32)
    kernels.add(x, x, T.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for _ in range(200):
            x += 1
        got = kernels.add(x, x, T.float32)
    stream.synchronize()
    assert bool((got == 400).all())


def test_calls_are_captured_into_a_graph(torch, kernels):
    a = torch.randn(100, 64, device="cuda", dtype=torch.float16)
    b = torch.randn(64, 100, device="cuda", dtype=torch.float16)
    kernels.matmul_of_any_size(a, b, T.float16)  # loading is not captured
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = kernels.matmul_of_any_size(a, b, T.float16)
    a.copy_(torch.randn_like(a))
    graph.replay()
    torch.cuda.synchronize()
    assert (got.double() - a.double() @ b.double()).abs().max().item() < 0.05


def test_a_product_is_captured_into_a_graph(torch, kernels):
    kernel = kernels.matmul.compile(M=256, N=256, K=256, **HALF, block=(128, 128, 64))
    a, b = (torch.randn(256, 256, device="cuda").half() for _ in range(2))
    kernel(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = [kernel(a, b) for _ in range(3)]
    for _ in range(2):
        a.copy_(torch.randn_like(a))
        graph.replay()
        torch.cuda.synchronize()
        for one in got:
            assert (one.double() - a.double() @ b.double()).abs().max().item() < 0.05


def test_two_streams_take_turns_at_one_kernel(torch, kernels):
    kernel = kernels.matmul.compile(M=256, N=256, K=256, **HALF, block=(128, 128, 64))
    streams = [torch.cuda.Stream() for _ in range(2)]
    inputs = [[torch.randn(256, 256, device="cuda").half() for _ in range(2)] for _ in streams]
    wanted = [kernel(*pair) for pair in inputs]
    torch.cuda.synchronize()
    got = [[], []]
    for _ in range(1000):
        for stream, pair, results in zip(streams, inputs, got, strict=True):
            with torch.cuda.stream(stream):
                results.append(kernel(*pair))
    torch.cuda.synchronize()
    for results, want in zip(got, wanted, strict=True):
        assert len(results) == 1000
        assert bool((torch.stack(results) == want).all())


def test_threads_call_one_kernel(torch, kernels):
    x = [torch.full((1000,), float(i), device="cuda") for i in range(8)]
    kernel = kernels.add.compile(dtype=T.float32)

    def work(i):
        with torch.cuda.stream(torch.cuda.Stream()):
            found = [kernel(x[i], x[i]) for _ in range(200)]
            torch.cuda.current_stream().synchronize()
            return all(bool((y == 2 * i).all()) for y in found)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_a_bound_kernel_takes_any_like_arguments(torch, kernels):
    a, b, c = (torch.randn(100, device="cuda") for _ in range(3))
    kernel = kernels.add.compile(dtype=T.float32)
    run = kernel.bind(a, b)
    assert torch.equal(run(a, b), a + b)
    assert torch.equal(run(c, b), c + b)


@pytest.mark.parametrize("name", ["add", "matmul"])
def test_a_bound_kernel_runs_again_on_its_arguments(torch, kernels, name):
    shape, dtype = ((100,), torch.float32) if name == "add" else ((256, 256), torch.float16)
    a, b = (torch.randn(shape, device="cuda").to(dtype) for _ in range(2))
    if name == "add":
        kernel, expected = kernels.add.compile(dtype=T.float32), torch.add
    else:
        kernel = kernels.matmul.compile(M=256, N=256, K=256, **HALF, block=(128, 128, 64))
        expected = torch.matmul
    run = kernel.bind(a, b)
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
        a.copy_(torch.randn_like(a))
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            got = run()
        stream.synchronize()
        assert (got.double() - expected(a, b).double()).abs().max().item() < 0.05
    with ThreadPoolExecutor(4) as pool:
        found = [job.result() for job in [pool.submit(run) for _ in range(100)]]
    torch.cuda.synchronize()
    assert all(torch.equal(one, got) for one in found)


def test_other_arguments_of_a_known_kernel_are_still_checked(torch, kernels):
    a = torch.randn(100, device="cuda")
    kernel = kernels.add.compile(dtype=T.float32)
    assert torch.equal(kernel(a, a), a + a)
    assert torch.equal(kernel(a[:7], a[7:14]), a[:7] + a[7:14])
    for wrong, code in (
        ((a,), "E2001"),
        ((a, a, a), "E2001"),
        ((a, a[:50]), "E2005"),
        ((a, a.double()), "E2002"),
        ((a, a[None]), "E2003"),
        ((a, None), "E2008"),
        ((a, 3.0), "E2009"),
        ((a[::2], a[::2]), "E2006"),
        ((a, a.cpu()), "E2007"),
    ):
        assert code_of(lambda wrong=wrong: kernel(*wrong)) == code


def test_memory_of_another_device_is_refused(torch, kernels):
    kernel = tile.compile(kernels.add.get_tir(dtype=T.float32), target="cuda")
    host = torch.ones(10)
    assert code_of(lambda: kernel(host, host)) == "E2007"
    assert code_of(lambda: kernel(host.numpy(), host.numpy())) == "E2007"
    assert code_of(lambda: kernel(host.cuda(), host)) == "E2007"


def test_views_that_are_not_aligned_take_another_variant(torch, kernels):
    big = torch.randn(64 * 64 + 8, device="cuda").half()
    kernel = kernels.matmul.compile(M=64, N=64, K=64, **HALF)
    assert kernel.compiled.artifact.alignments[:2] == (16, 16)
    good, other = big[: 64 * 64].view(64, 64), big[1 : 64 * 64 + 1].view(64, 64)
    for right in (good, other, good):
        got = kernel(good, right)
        assert (got.double() - good.double() @ right.double()).abs().max().item() < 0.05
    assert kernel.plain.compiled.artifact.alignments == (2, 2, 2)


def test_rows_too_odd_for_the_copy_engine(torch, kernels):
    kernel = kernels.matmul.compile(M=64, N=65, K=127, **HALF)
    a, b = torch.randn(64, 127, device="cuda").half(), torch.randn(127, 65, device="cuda").half()
    got = kernel(a, b)
    assert (got.double() - a.double() @ b.double()).abs().max().item() < 0.05


@pytest.mark.parametrize("trips", [0, 1, 2])
@pytest.mark.parametrize("stages", [2, 4])
def test_pipelines_shorter_than_their_stages(torch, kernels, trips, stages):
    K = 32 * trips

    @tile.jit
    def product(A, B):
        M, N, k_size = T.dynamic("M, N, k_size")
        A: T.Tensor((M, k_size), T.float16)
        B: T.Tensor((k_size, N), T.float16)
        C = T.empty((M, N), T.float16)
        with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=128) as (bx, by):
            A_s = T.alloc_shared((128, 32), T.float16)
            B_s = T.alloc_shared((32, 128), T.float16)
            C_l = T.alloc_fragment((128, 128), T.float32)
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(k_size, 32), num_stages=stages):
                T.copy(A[by * 128, k * 32], A_s)
                T.copy(B[k * 32, bx * 128], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * 128, bx * 128])
        return C

    a, b = torch.randn(256, K, device="cuda").half(), torch.randn(K, 256, device="cuda").half()
    got = product(a, b)
    assert (got.double() - a.double() @ b.double()).abs().max().item() < 0.05


def test_a_tile_that_does_not_fit_names_the_stages_that_do(torch, kernels):
    with pytest.raises(TileError, match="stages of 98304 bytes do not fit into 23") as caught:
        kernels.matmul.compile(M=512, N=512, K=512, **HALF, block=(128, 256, 128))
    assert (caught.value.code, caught.value.help) == ("E0703", "num_stages = 2 fits")


def test_gaps_between_rows_are_refused(torch, kernels):
    x = torch.ones(64, 128, device="cuda", dtype=torch.float16)[:, :64]
    assert code_of(lambda: kernels.matmul_of_any_size(x, x, T.float16)) == "E2006"


def test_a_second_device(torch, kernels):
    requires("two GPUs", torch.cuda.device_count() > 1)
    x = torch.ones(100, device="cuda:1")
    got = kernels.add(x, x, T.float32)
    assert got.device == x.device
    assert torch.equal(got, x + x)
    assert torch.cuda.current_device() == 0
    assert code_of(lambda: kernels.add(x, x.to("cuda:0"), T.float32)) == "E2007"


def test_one_kernel_on_two_devices(torch, kernels):
    requires("two GPUs", torch.cuda.device_count() > 1)
    kernel = kernels.matmul.compile(M=256, N=256, K=256, **HALF, block=(128, 128, 64))
    pairs = [[torch.randn(256, 256, device=f"cuda:{i}").half() for _ in range(2)] for i in (0, 1)]
    for a, b in (*pairs, *pairs):
        got = kernel(a, b)
        assert got.device == a.device
        assert (got.double() - a.double() @ b.double()).abs().max().item() < 0.05
        with torch.cuda.device(1 - a.device.index):
            assert torch.equal(kernel(a, b), got)
            assert torch.cuda.current_device() == 1 - a.device.index


def test_times_are_those_of_the_device(torch, kernels):
    x = torch.ones(1 << 28, device="cuda")
    for backend in ("event", "graph", "wall"):
        milliseconds = do_bench(lambda: kernels.add(x, x, T.float32), backend=backend)
        assert 500 < 3 * x.nbytes / milliseconds / 1e6 < 6000  # GB/s: no device moves more
