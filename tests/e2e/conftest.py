"""What the end-to-end tests share: a cache of their own, poisoned outputs, and the two references.

Every kernel is compiled for the CPU through the public interface and compared twice: with the
oracle, which runs the same program, and with numpy, which knows nothing of the program. With
`--on "cuda -arch=sm_80"` the programs are compiled for that target instead, and the emulator runs
what was emitted for it.
"""

from collections.abc import Sequence

import numpy as np
import pytest

import tile_frontend as tile
from tile_frontend.language.function import PrimFunc
from tile_ir import interp
from tile_ir.diag import TileError
from tile_ir.testing.compare import assert_close


def pytest_addoption(parser):
    """Another target than the CPU, in the emulator."""
    parser.addoption("--on", metavar="TARGET", help="compile for this target, run in the emulator")


LACKING = "E3101"
"""What a target says to a program that asks for a type or a service of the host it has not."""


@pytest.fixture(autouse=True)
def anew(cache_of_the_session, poisoned_arrays):
    """Every test compiles into the session's cache and gets outputs full of garbage."""


def as_list(value):
    """Outputs as a list: None is none, one is one."""
    if value is None:
        return []
    return list(value) if isinstance(value, Sequence) else [value]


def compiled(program, on):
    """The kernel of a traced function for the CPU or a target in the emulator, which may lack what
    a program needs; a kernel is its own."""
    if not isinstance(program, PrimFunc):
        return program
    if on is None:
        return tile.compile(program, target="cpu")
    try:
        return tile.compile(program, target=on, device="emulator")
    except TileError as error:
        if error.code != LACKING:
            raise
        return pytest.skip(f"{on}: {error.message}")


def copies(args):
    """The same arguments in memory of their own, strides and all."""
    return [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]


class Outcome(list):
    """The outputs of a run; `args` are the inputs as the kernel left them."""

    args: list


@pytest.fixture
def run(request):
    """Return `run(program, *args)`: the outputs of a kernel, which agree with the oracle's.

    `program` is a traced function or a compiled kernel. The arguments are not changed; what the
    kernel wrote to them is in `.args` of the outcome. `rtol` and `atol` loosen the comparison.
    """

    on = request.config.getoption("--on", default=None)

    def agreeing(program, *args, rtol=None, atol=None):
        kernel = compiled(program, on)
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
