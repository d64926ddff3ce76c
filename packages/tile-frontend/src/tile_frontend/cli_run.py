"""`tile run`: call a kernel on random inputs, and compare what it gives with the oracle.

The oracle executes the program in numpy, which takes long for large tensors: then the kernel is
built once more for smaller extents and compared there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tile_frontend.cli_kernels import (
    add_kernel,
    arguments_of,
    built,
    kernel_at,
    of_user,
    values,
)
from tile_frontend.cli_output import Table, show
from tile_ir.diag import TileError
from tile_ir.exit_status import ExitStatus

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    import numpy as np

    from tile_frontend.kernel import JITKernel

ELEMENTS = 1 << 18
"""Elements of all tensors together that the oracle is given: seconds for most programs."""
SMALL = 128
"""What larger extents are brought down to; how far they are from a multiple of it remains."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_kernel(parser)
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default 0)")
    parser.add_argument(
        "--check",
        choices=("auto", "always", "never"),
        default="auto",
        help="compare with the oracle: where tensors are small or can be made so (default), as "
        "they are however large, or not at all",
    )
    parser.add_argument(
        "--check-arg",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="arguments and dimensions to compare at instead",
    )
    parser.set_defaults(run=_run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kernel and the sizes that it is run at; `call` keeps what it ran on."""

    kernel: JITKernel
    sizes: Mapping[str, Any]
    dims: Mapping[str, int]
    inputs: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def elements(self) -> int:
        """Of all tensors together."""
        buffers = [p.buffer for p in self.kernel.params if p.buffer is not None]
        return sum(prod(self._shape(b)) for b in buffers)

    def _shape(self, buffer: Any) -> tuple[int, ...]:
        from tile_frontend.dims import evaluate

        missing = [d.name for d in self.kernel.function.dims if d.name not in self.dims]
        if missing:
            raise TileError(
                "E2602",
                f"{self.kernel.function.name} has dimensions without a value: {', '.join(missing)}",
                help=f"give them: --dim {missing[0]}=64",
            )
        return tuple(evaluate(e, dict(self.dims)) for e in buffer.shape)

    def call(self, seed: int) -> tuple[dict[str, Any], float]:
        """Run the kernel on random inputs: its outputs and what it wrote by name, in host memory,
        and the seconds of the call."""
        import numpy as np

        from tile_frontend.adapters.base import packed_shape
        from tile_frontend.compatibility import TensorSupplyType
        from tile_frontend.supplies import fetched, numbers, placed

        rng, device = np.random.default_rng(seed), self.kernel.target.device
        for p in self.kernel.binder.inputs:
            b = p.buffer
            if b is None:
                self.inputs[p.name] = self.given[p.name] = 1
                continue
            shape = packed_shape(self._shape(b), b.dtype)
            self.inputs[p.name] = numbers(rng, shape, b.dtype, TensorSupplyType.Auto)
            self.given[p.name] = placed(self.inputs[p.name].copy(), b.dtype, device)
        start = perf_counter()
        out = self.kernel(*self.given.values())
        seconds = perf_counter() - start
        results = self.kernel.function.results
        listed = out if isinstance(out, list) else [out]
        found = {**self.given, **dict(zip(results, listed, strict=False))}
        types = {p.name: p.buffer.dtype for p in self.kernel.params if p.buffer is not None}
        return {n: fetched(found[n], t) for n, t in types.items()}, seconds

    def expected(self) -> dict[str, np.ndarray[Any, Any]]:
        """What the oracle makes of the same inputs."""
        from tile_ir.interp import run

        return run(self.kernel.function, self.inputs, lines=[])

    @property
    def is_packed(self) -> bool:
        """Whether elements share bytes, which the oracle keeps apart."""
        return any(
            p.buffer is not None and p.buffer.dtype.storage_bits < 8 for p in self.kernel.params
        )


def _run(options: argparse.Namespace) -> ExitStatus:
    with of_user(options.json):
        found, sizes = kernel_at(options.kernel), arguments_of(options)
        kernel = built(found, sizes, options.target, options.device)
        case = Case(kernel=kernel, sizes=sizes, dims=values(options.dim))
        outputs, seconds = case.call(options.seed)
        check = _check(options, found, case, outputs)
    written = set(kernel.function.results) | set(check.get("written", ()))
    shown = {n: a for n, a in outputs.items() if n in written} or outputs
    document = {
        "name": kernel.function.name,
        "target": str(kernel.target),
        "sizes": {**case.sizes, **case.dims},
        "seconds": seconds,
        "outputs": [
            {"name": n, "dtype": str(a.dtype), "shape": list(a.shape)} for n, a in shown.items()
        ],
        "check": check,
    }
    rows = [(n, str(a.dtype), "x".join(map(str, a.shape)) or "1") for n, a in shown.items()]
    title = f"{kernel.function.name} for {kernel.target}: first call {seconds * 1e3:.3f} ms"
    table = Table(head=("output", "type", "shape"), rows=rows)
    show(options.json, document, title, table, _told(check))
    return ExitStatus.FOUND if check["status"] == "different" else ExitStatus.DONE


def _told(check: Mapping[str, Any]) -> str:
    at = ", ".join(f"{n}={v}" for n, v in check.get("sizes", {}).items())
    where = f" at {at}" if at else ""
    if check["status"] == "equal":
        return f"equal to the oracle{where}"
    if check["status"] == "different":
        return f"DIFFERENT from the oracle{where}\n{check['reason']}"
    return f"not compared with the oracle: {check['reason']}"


def _check(
    options: argparse.Namespace, found: Any, case: Case, outputs: Mapping[str, Any]
) -> dict[str, Any]:
    """Compare with the oracle, at these sizes or smaller ones."""
    if options.check == "never":
        return {"status": "skipped", "reason": "as asked"}
    if case.is_packed:
        return {"status": "skipped", "reason": "elements narrower than a byte are packed"}
    chosen = values(options.check_arg)
    if not chosen and (options.check == "always" or case.elements <= ELEMENTS):
        return _compared(case, outputs)
    smaller = chosen or _smaller(found, case)
    try:
        sizes = {n: smaller.get(n, v) for n, v in case.sizes.items()}
        dims = {n: smaller.get(n, v) for n, v in case.dims.items()}
        kernel = built(found, sizes, options.target, options.device) if sizes else case.kernel
        small = Case(kernel=kernel, sizes=sizes, dims=dims)
        if not chosen and small.elements > ELEMENTS:
            why = f"{small.elements} elements are many for it; name smaller sizes by --check-arg"
            return {"status": "skipped", "reason": why}
        outputs, _ = small.call(options.seed)
    except TileError as error:
        if chosen:
            raise
        why = f"at {smaller}: {error.message}; name smaller sizes by --check-arg"
        return {"status": "skipped", "reason": why}
    return _compared(small, outputs)


def _smaller(found: Any, case: Case) -> dict[str, int]:
    """Smaller extents: those of dimensions, for what parameters of the function mean is unknown."""
    signature = getattr(found, "signature", None)
    parameters = set() if signature is None else set(signature.parameters)
    extents = {n: v for n, v in case.sizes.items() if n not in parameters} | dict(case.dims)
    return {
        n: SMALL + v % SMALL for n, v in extents.items() if isinstance(v, int) and v > 2 * SMALL
    }


def _compared(case: Case, outputs: Mapping[str, Any]) -> dict[str, Any]:
    try:
        from tile_ir.testing.compare import assert_close

        expected = case.expected()
    except ImportError as missing:
        return {"status": "skipped", "reason": str(missing)}
    about = {"sizes": {**case.sizes, **case.dims}, "written": sorted(expected)}
    try:
        for name, want in expected.items():
            assert_close(outputs[name].view(want.dtype), want, what=name)
    except AssertionError as error:
        return {"status": "different", "reason": str(error), **about}
    return {"status": "equal", **about}
