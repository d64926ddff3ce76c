"""What tests of several folders share: a cache of their own, outputs that are full of garbage, the
scripts that write pages, and `run`, which compares a program with the oracle.

`run` compiles for the CPU; with `--on "cuda -arch=sm_80"` for that target, and the emulator runs
what was emitted for it; with `-m gpu` for the GPU of this machine.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from tile_ir.testing.requires import requires

ROOT = Path(__file__).parents[1]
POISON = 0xFF
"""The byte of undefined memory: NaN in every float type, -1 in integers."""

LACKING = "E3101"
"""What a target says to a program that asks for a type or a service of the host it has not."""


def pytest_addoption(parser):
    """Another target than the CPU, in the emulator."""
    parser.addoption("--on", metavar="TARGET", help="compile for this target, run in the emulator")


@pytest.fixture(scope="session")
def cache_of_the_session(tmp_path_factory):
    """Compile everything anew, and once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILE_CACHE_DIR", str(tmp_path_factory.mktemp("tile")))
        yield


@pytest.fixture
def poisoned_arrays(monkeypatch):
    """Make new numpy outputs full of garbage, so that an element that is never written shows."""
    import numpy as np

    from tile_frontend.adapters.numpy_arrays import NumpyAdapter

    poison(monkeypatch, NumpyAdapter, lambda a: a.size and a.view(np.uint8).fill(POISON))


@pytest.fixture(scope="session")
def torch():
    """PyTorch with a GPU."""
    found = pytest.importorskip("torch")
    requires("a GPU", found.cuda.is_available())
    pytest.importorskip("cupy")
    return found


@pytest.fixture
def poisoned_tensors(torch, monkeypatch):
    """The same for new tensors on a GPU."""
    from tile_frontend.adapters.torch_tensors import TorchAdapter

    poison(monkeypatch, TorchAdapter, lambda t: t.numel() and t.view(torch.uint8).fill_(POISON))


def poison(monkeypatch, adapter, fill):
    """Have `fill` ruin every output that an adapter makes."""
    maker = adapter.maker

    def poisoned(self, shape, dtype, device):
        make = maker(self, shape, dtype, device)

        def made():
            array = make()
            fill(array)
            return array

        return made

    monkeypatch.setattr(adapter, "maker", poisoned)


@pytest.fixture(scope="session")
def script():
    """Return `script(name)`: a module of docs/generate, which finds the others beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs" / "generate"))
        yield import_module
        for name in [n for n, m in sys.modules.items() if _is_script(m)]:
            del sys.modules[name]


def _is_script(module):
    return "docs/generate" in str(getattr(module, "__file__", None))


@pytest.fixture
def rng():
    """Return a generator of random numbers that gives the same ones in every run."""
    import numpy as np

    return np.random.default_rng(20)


class Outcome(list):
    """The outputs of a run; `args` are the inputs as the kernel left them."""

    args: list


class Emulated:
    """Where a program runs unless told otherwise: the CPU, or a target in the emulator."""

    def __init__(self, target):
        self.target = target

    def compiled(self, program):
        """The kernel of a traced function; the target may lack what it needs."""
        import tile_frontend as tile
        from tile_ir.diag import TileError

        if self.target is None:
            return tile.compile(program, target="cpu")
        try:
            return tile.compile(program, target=self.target, device="emulator")
        except TileError as error:
            if error.code != LACKING:
                raise
            return pytest.skip(f"{self.target}: {error.message}")

    def called(self, kernel, arrays):
        """The outputs; `arrays` are written in place."""
        return as_list(kernel(*arrays))


@pytest.fixture(params=["here", pytest.param("gpu", marks=pytest.mark.gpu)])
def place(request):
    """Where `run` compiles for and runs: here, or on the GPU of this machine."""
    if request.param == "here":
        return Emulated(request.config.getoption("--on"))
    torch = request.getfixturevalue("torch")
    request.getfixturevalue("poisoned_tensors")
    from tile_ir.testing.by_path import module_at

    return module_at(Path(__file__).with_name("gpu_place.py")).Gpu(torch, as_list)


def as_list(value):
    """Outputs as a list: None is none, one is one."""
    if value is None:
        return []
    return list(value) if isinstance(value, Sequence) else [value]


def copies(args):
    """The same arguments in memory of their own, strides and all."""
    return [a.copy(order="K") if hasattr(a, "strides") else a for a in args]


@pytest.fixture
def run(place):
    """Return `run(program, *args)`: the outputs of a kernel, which agree with the oracle's.

    `program` is a traced function or a compiled kernel. The arguments are not changed; what the
    kernel wrote to them is in `.args` of the outcome. `rtol` and `atol` loosen the comparison.
    """
    from tile_frontend.language.function import PrimFunc
    from tile_ir import interp
    from tile_ir.testing.compare import assert_close

    def agreeing(program, *args, rtol=None, atol=None):
        kernel = place.compiled(program) if isinstance(program, PrimFunc) else program
        given = copies(args)
        outcome = Outcome(place.called(kernel, given))
        outcome.args = given
        names = kernel.binder.names
        inputs = {n: a for n, a in zip(names, copies(args), strict=True) if a is not None}
        lines = []
        spec = kernel.target.spec
        for name, want in interp.run(kernel.function, inputs, lines=lines, target=spec).items():
            results = kernel.function.results
            got = outcome[results.index(name)] if name in results else given[names.index(name)]
            assert_close(got, want, rtol=rtol, atol=atol, what=f"{name} of {kernel.function.name}")
        return outcome

    return agreeing
