"""What the end-to-end tests share: a cache of their own, poisoned outputs, and the two references.

Every kernel is compiled for the CPU through the public interface and compared twice: with the
oracle, which runs the same program, and with numpy, which knows nothing of the program.
"""

from collections.abc import Sequence

import numpy as np
import pytest

import tile_frontend as tile
from tile_frontend.adapters.numpy_arrays import NumpyAdapter
from tile_frontend.language.function import PrimFunc
from tile_ir import interp
from tile_ir.testing.compare import assert_close

POISON = 0xFF
"""The byte of undefined memory: NaN in every float type, -1 in integers."""


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory):
    """Compile everything anew, and once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILE_CACHE_DIR", str(tmp_path_factory.mktemp("tile")))
        yield


@pytest.fixture(autouse=True)
def poisoned_outputs(monkeypatch):
    """Make new outputs full of garbage, so that an element that is never written shows."""
    maker = NumpyAdapter.maker

    def poisoned(self, shape, dtype, device):
        make = maker(self, shape, dtype, device)

        def made():
            array = make()
            if array.size:
                array.view(np.uint8).fill(POISON)
            return array

        return made

    monkeypatch.setattr(NumpyAdapter, "maker", poisoned)


def as_list(value):
    """Outputs as a list: None is none, one is one."""
    if value is None:
        return []
    return list(value) if isinstance(value, Sequence) else [value]


def compiled(program):
    """The kernel of a traced function; a kernel is its own."""
    return tile.compile(program, target="cpu") if isinstance(program, PrimFunc) else program


def copies(args):
    """The same arguments in memory of their own, strides and all."""
    return [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]


class Outcome(list):
    """The outputs of a run; `args` are the inputs as the kernel left them."""

    args: list


@pytest.fixture
def run():
    """Return `run(program, *args)`: the outputs of a kernel, which agree with the oracle's.

    `program` is a traced function or a compiled kernel. The arguments are not changed; what the
    kernel wrote to them is in `.args` of the outcome. `rtol` and `atol` loosen the comparison.
    """

    def agreeing(program, *args, rtol=None, atol=None):
        kernel = compiled(program)
        given = copies(args)
        outcome = Outcome(as_list(kernel(*given)))
        outcome.args = given
        names = kernel.binder.names
        inputs = {n: a for n, a in zip(names, copies(args), strict=True) if a is not None}
        lines = []
        for name, want in interp.run(kernel.function, inputs, lines=lines).items():
            results = kernel.function.results
            got = outcome[results.index(name)] if name in results else given[names.index(name)]
            assert_close(got, want, rtol=rtol, atol=atol, what=f"{name} of {kernel.function.name}")
        return outcome

    return agreeing


@pytest.fixture
def rng():
    """Return a generator of random numbers that gives the same ones in every run."""
    return np.random.default_rng(20)
