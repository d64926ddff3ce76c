"""The examples on the CPU beside what torch has for the same, on the same tensors.

A comparison is one call of an example and the ways in which torch does it; the fastest way is the
peer. Calls take below 100 ms. Torch runs eagerly: compiling it is another tool's work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from gpu_programs import example
from report import Row, medians

import tile_frontend as tile
import tile_frontend.language as T

BAR, SHOWN = 1.0, 0.0
SAMPLE_S = 0.02
"""Shorter calls are repeated within a sample until it takes as long."""
TOLERANCES = {"float32": 2e-5, "bfloat16": 2e-2, "float16": 2e-3, "int32": 0, "int8": 0}
"""Type of an output -> how far ours and torch's may differ, as a part of the largest number."""
Call = Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Ours, and torch's ways by name. `near` takes the place of the type's tolerance; None where
    both draw numbers of their own. `rough` are ways that round the operands to fewer bits than
    ours: they are shown, without a limit."""

    ours: Call
    peers: Mapping[str, Call]
    rough: Mapping[str, Call] = field(default_factory=dict)
    near: float | None = -1.0


def example_call(name: str, *args: Any, **options: Any) -> Call:
    """A call of the example FILE.KERNEL on these tensors."""
    kernel = _built(name)
    return lambda: kernel(*args, **options)


@cache
def _built(name: str) -> Any:
    file, _, kernel = name.partition(".")
    return tile.jit(target="cpu")(getattr(example(file), kernel).fn)


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Numbers of mean 0 and variance 1."""
    return torch.randn(*shape).to(dtype)


def element(dtype: torch.dtype) -> Any:
    """The language's name of a type of torch."""
    return T.dtype(str(dtype).removeprefix("torch."))


def gradient(of: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> tuple[Call, torch.Tensor]:
    """A call that gives the gradients of `inputs`, and that of the output, which it begins with."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    out = of(*leaves)
    begin = torch.randn(out.shape).to(out.dtype)
    return lambda: torch.autograd.grad(out, leaves, begin, retain_graph=True), begin


def rows_of(cases: Mapping[str, Callable[[], Pair]], threads: int, only: str) -> Iterator[Row]:
    """Each comparison, checked and measured."""
    for name, make in cases.items():
        if only in name:
            torch.manual_seed(0)
            yield from _rows(f"{name}, {threads} thread{'s' * (threads > 1)}", make())


def _rows(name: str, pair: Pair) -> Iterator[Row]:
    check(name, pair)
    calls = {"ours": pair.ours, **pair.peers, **pair.rough}
    counts = {k: _count(call) for k, call in calls.items()}
    runs = [_repeated(call, counts[k]) for k, call in calls.items()]
    times = medians(runs, rounds=9, budget_s=3)
    each = {k: t / counts[k] * 1e3 for k, t in zip(calls, times, strict=True)}
    mine = each["ours"]
    best = min(pair.peers, key=each.__getitem__)
    for way, bar in ((best, BAR), *((way, SHOWN) for way in pair.rough)):
        yield Row(name, mine, each[way], f"torch {way}", "ms", each[way] / mine, bar)


def _repeated(call: Call, count: int) -> Call:
    def run() -> None:
        for _ in range(count):
            call()

    return run


def _count(call: Call) -> int:
    call()
    start = time.perf_counter()
    call()
    return max(1, math.ceil(SAMPLE_S / (time.perf_counter() - start)))


def check(name: str, pair: Pair) -> None:
    """Ours gives what each of torch's ways gives; raises SystemExit with the name where not."""
    if pair.near is None:
        return
    mine = _listed(pair.ours())
    for way, peer in pair.peers.items():
        theirs = _listed(peer())
        if len(mine) != len(theirs):
            raise SystemExit(f"{name}: {len(mine)} outputs, torch {way} has {len(theirs)}")
        for n, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            near = pair.near if pair.near >= 0 else TOLERANCES[str(a.dtype).removeprefix("torch.")]
            off = (a.double() - b.double()).abs().nan_to_num(math.inf, math.inf).max().item()
            allowed = near * b.double().abs().max().item()
            if a.shape != b.shape or off > allowed:
                raise SystemExit(f"{name}: output {n} is {off:.3g} off torch {way}, {allowed:.3g}")


def _listed(made: Any) -> list[torch.Tensor]:
    return list(made) if isinstance(made, (list, tuple)) else [made]
