"""Programs of the corpus lowered to one thread's program, and compared with the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.testing.compare import assert_all_close
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_ir.verify import check
from tile_passes.base import PassContext, State
from tile_passes.lower.threads.lower_threads import lower_threads
from tile_passes.manager import run_pipeline
from tile_passes.pipeline import parse_pipeline
from tile_passes.registry import known_passes

if TYPE_CHECKING:
    from tile_ir.core import Function

LEGALIZE = "bounds, mask-init, init-gemm, reciprocal, simplify, dead-buffers"


@dataclass(frozen=True)
class Threads:
    """The lowering, and the check that it keeps what a program computes."""

    def legal(self, fn: Function, arch: str, passes: str = LEGALIZE) -> Function:
        pipeline = parse_pipeline(passes, known_passes())
        context = PassContext(target=toy_spec(arch))  # type: ignore[arg-type]  # one of the two
        return run_pipeline(pipeline, State(function=fn), context).state.function

    def lowered(self, fn: Function | str, arch: str = "sync", passes: str = LEGALIZE) -> Function:
        tile = parse_function(fn) if isinstance(fn, str) else fn
        made = lower_threads(self.legal(tile, arch, passes), toy_spec(arch))  # type: ignore[arg-type]
        check(made)
        return made

    def compare(
        self,
        fn: Function,
        args: dict[str, Any],
        *,
        arch: str = "sync",
        passes: str = LEGALIZE,
        rtol: float | None = None,
        atol: dict[str, float] | None = None,
    ) -> Function:
        """Lower, run both, compare; `rtol` is relative to the results' root mean square."""
        low = self.lowered(fn, arch, passes)
        want = run(self.legal(fn, arch), args)
        got = run(low, args, target=toy_spec(arch))  # type: ignore[arg-type]  # one of the two
        if rtol is not None:
            atol = {k: rtol * _scale(v) for k, v in want.items()}
        assert_all_close(got, want, atol)
        return low


def _scale(x: Any) -> float:
    return float(np.sqrt(np.mean(np.asarray(x, np.float64) ** 2)))


@pytest.fixture(scope="session")
def threads() -> Threads:
    return Threads()
