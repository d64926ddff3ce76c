"""What is generated for older GPUs, run on the one at hand: newer ones keep their instructions.

Only the name of the machine in the compiler's options is another.
"""

from dataclasses import replace

import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_cuda import MANIFEST, spec
from tile_cuda.host_arch import host_arch
from tile_frontend.target_select import Target
from tile_ir.target import TargetRequest
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gpu

LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]


@pytest.fixture(params=["sm_75", "sm_80", "sm_86", "sm_89"])
def older(request, torch):
    """A target with the description of an older GPU and the machine code of this one."""
    number = int(request.param.removeprefix("sm_"))
    major, minor = torch.cuda.get_device_capability()
    requires(f"a GPU that runs instructions of {request.param}", 10 * major + minor >= number)
    described = spec.load(request.param)
    here = spec.load(host_arch()).toolchain.cpu
    made = replace(described, toolchain=replace(described.toolchain, cpu=here))
    return Target(MANIFEST, made, TargetRequest(name="cuda", arch=request.param))


def numbers(torch, *shape):
    made = torch.Generator("cuda").manual_seed(len(shape))
    return torch.randn(shape, generator=made, device="cuda").half()


@pytest.mark.parametrize("shape", [(64, 64, 64), (129, 65, 1000), (1, 7, 33), (512, 256, 4096)])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_products(torch, kernels, near, older, layout, shape):
    (M, N, K), (ta, tb) = shape, layout
    kind = {"dtype": T.float16, "out": T.float16, "accumulate": T.float32}
    func = kernels.matmul.get_tir(
        M=M, N=N, K=K, **kind, transpose_a=ta, transpose_b=tb, block=(64, 64, 32)
    )
    a = numbers(torch, *((K, M) if ta else (M, K)))
    b = numbers(torch, *((N, K) if tb else (K, N)))
    got = tile.compile(func, target=older)(a, b)
    near(got, (a.T if ta else a).double() @ (b.T if tb else b).double(), 1e-3)


@pytest.mark.parametrize("shape", [(128, 128, 128), (129, 65, 1000), (512, 256, 4096)])
def test_products_of_integers(torch, kernels, older, shape):
    M, N, K = shape
    kind = {"dtype": T.int8, "out": T.int32, "accumulate": T.int32}
    func = kernels.matmul.get_tir(M=M, N=N, K=K, **kind, transpose_b=True, block=(64, 64, 64))
    a = torch.randint(-8, 9, (M, K), device="cuda", dtype=torch.int8)
    b = torch.randint(-8, 9, (N, K), device="cuda", dtype=torch.int8)
    got = tile.compile(func, target=older)(a, b)
    assert torch.equal(got.double(), a.double() @ b.double().T)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("length", "dim"), [(1, 64), (129, 64), (1000, 128)])
def test_attention(torch, kernels, near, older, length, dim, causal):
    sizes = {"batch": 2, "heads": 3, "length": length, "dim": dim}
    func = kernels.attention.get_tir(**sizes, dtype=T.float16, causal=causal)
    q, k, v = (numbers(torch, 2, 3, length, dim) * (i + 1) / 2 for i in range(3))
    got = tile.compile(func, target=older)(q, k, v)
    attend = torch.nn.functional.scaled_dot_product_attention
    near(got, attend(q.double(), k.double(), v.double(), is_causal=causal), 2e-3)


@pytest.mark.parametrize(("M", "N"), [(7, 65), (64, 4096)])
def test_rows(torch, example, near, older, M, N):
    x = torch.randn(M, N, device="cuda")
    got = tile.compile(example.softmax.get_tir(M=M, N=N), target=older)(x)
    near(got, torch.softmax(x.double(), -1), 1e-6)
