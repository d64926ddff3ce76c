"""What reads memory once and writes it once: rows, elements, transposes, sums.

The measure is the bandwidth of a copy in the same run, of as many bytes or as the input has; torch
stands beside it, and Triton as a recorded number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from gpu_bench import (
    EPSILON,
    Load,
    Ours,
    Recorded,
    Task,
    clones,
    copies_of,
    off,
    sum_error,
    whole,
)

BAR = 0.97
ROWS = 32768
TRITON = {
    ("softmax", "float16"): {1024: 3692, 4096: 4051, 8192: 4181, 16384: 3997},
    ("softmax", "float32"): {4096: 4095, 8192: 4160},
    ("rms_norm", "float16"): {1024: 3625, 4096: 4031, 8192: 4105, 16384: 4196},
    ("rms_norm", "float32"): {4096: 4099, 8192: 4219},
    ("layer_norm", "float16"): {1024: 3606, 4096: 3979, 8192: 4142, 16384: 4097},
    ("layer_norm", "float32"): {4096: 4074, 8192: 4154},
    ("transpose", "float16"): {8192: 3670, 16384: 3834},
    ("transpose", "float32"): {8192: 3893, 16384: 3932},
    ("add", "float16"): {268435456: 4318},
    ("add", "float32"): {268435456: 4349},
    ("row_sum", "float32"): {8192: 4378, 65536: 4342, 1024: 4331},
    ("column_sum", "float32"): {8192: 4199, 65536: 4185, 1024: 4166},
}
"""Kernel and type -> columns (elements of add) -> GB/s."""
SUMS = ((32768, 8192), (4096, 65536), (262144, 1024))
SHORT = {"float16": "f16", "float32": "f32"}


def rowwise() -> Iterator[Task]:
    """Softmax, RMSNorm and LayerNorm along the columns."""
    files = {"softmax": "softmax.softmax", "rms_norm": "rms_norm.forward"}
    files["layer_norm"] = "layer_norm.forward"
    for kind, name in files.items():
        for dtype in ("float16", "float32"):
            for n in TRITON[kind, dtype]:
                ours = Ours(
                    name=name,
                    sizes={"M": ROWS, "N": n},
                    options={"dtype": dtype},
                    keys=(f"{n}", f"{n} {SHORT[dtype]}"),
                )
                load = partial(_rowwise, ours, kind)
                yield Task(name=f"{kind} {SHORT[dtype]} {ROWS}x{n}", ours=ours, load=load)


def _rowwise(ours: Ours, kind: str) -> Load:
    import torch
    from torch.nn import functional as F

    n, dtype = ours.sizes["N"], ours.options["dtype"]
    xs = _copies(dtype, ROWS, n)
    w, b = (_normal(dtype, n) for _ in range(2))
    some = torch.cat((torch.arange(0, ROWS, 509), torch.arange(ROWS - 4, ROWS))).cuda()
    more = {"softmax": (), "rms_norm": (w,), "layer_norm": (w, b)}[kind]
    theirs: Callable[..., Any] = {
        "softmax": lambda x: torch.softmax(x, -1),
        "rms_norm": lambda x, w: F.rms_norm(x, (n,), w, 1e-6),
        "layer_norm": lambda x, w, b: F.layer_norm(x, (n,), w, b, 1e-5),
    }[kind]
    want = theirs(xs[0][some].double(), *(y.double() for y in more))
    # One rounding of the output, and sums, roots and products in float32; W is up to five.
    rtol = EPSILON[dtype] + 16 * EPSILON["float32"]
    atol = 2.0**-24 if kind == "softmax" else 64 * EPSILON["float32"]

    def first(found: Any) -> Any:
        return found[0] if isinstance(found, (tuple, list)) else found

    def error(found: Any) -> float:
        out = first(found)
        return off(out[some], want, rtol, atol) if whole(out) else math.inf

    return _beside_copy(
        *(xs, 2 * xs[0].nbytes),
        call=lambda i: ours.call(xs[i], *more),
        torch_call=lambda i: theirs(xs[i], *more),
        error=error,
        recorded=TRITON[kind, dtype][n],
    )


def elements() -> Iterator[Task]:
    """Sums of two arrays, and transposes."""
    for (kind, dtype), known in TRITON.items():
        if kind not in ("add", "transpose"):
            continue
        for n in known:
            sizes = {"N": n} if kind == "add" else {"M": n, "N": n}
            name = "add" if kind == "add" else "transpose.transpose"
            options = {"dtype": dtype}
            ours = Ours(name=name, sizes=sizes, options=options, keys=(SHORT[dtype],))
            make = _add if kind == "add" else _transpose
            yield Task(name=f"{kind} {SHORT[dtype]} {n}", ours=ours, load=partial(make, ours))


def _add(ours: Ours) -> Load:
    n, dtype = ours.sizes["N"], ours.options["dtype"]
    x, y = (_normal(dtype, n) for _ in range(2))
    want = (x.double() + y.double()).to(x.dtype)
    return _beside_copy(
        *([x], 3 * x.nbytes),
        call=lambda i: ours.call(x, y),
        torch_call=lambda i: x + y,
        error=lambda out: 0.0 if out.equal(want) else math.inf,
        recorded=TRITON["add", dtype][n],
    )


def _transpose(ours: Ours) -> Load:
    n, dtype = ours.sizes["N"], ours.options["dtype"]
    xs = _copies(dtype, n, n)
    return _beside_copy(
        *(xs, 2 * xs[0].nbytes),
        call=lambda i: ours.call(xs[i]),
        torch_call=lambda i: xs[i].T.contiguous(),
        error=lambda out: 0.0 if out.equal(xs[0].T) else math.inf,
        recorded=TRITON["transpose", dtype][n],
    )


def sums() -> Iterator[Task]:
    """Sums of rows and of columns; they write next to nothing."""
    for name, kind in (("row_sum", "row_sum"), ("column_sum.column_sum", "column_sum")):
        for m, n in SUMS:
            sizes, options = {"M": m, "N": n}, {"dtype": "float32"}
            ours = Ours(name=name, sizes=sizes, options=options, keys=(f"{m}x{n}",))
            load = partial(_sum, ours, kind)
            yield Task(name=f"{kind} f32 {m}x{n}", ours=ours, load=load)


def _sum(ours: Ours, kind: str) -> Load:
    m, n = ours.sizes["M"], ours.sizes["N"]
    x = _normal("float32", m, n)
    axis = 1 if kind == "row_sum" else 0
    want, atol = x.double().sum(axis), sum_error((m, n)[axis])
    return _beside_copy(
        *([x], x.nbytes),
        call=lambda i: ours.call(x),
        torch_call=lambda i: x.sum(axis),
        error=lambda out: off(out, want, EPSILON["float32"], atol),
        recorded=TRITON[kind, "float32"][n],
    )


def _beside_copy(
    xs: Sequence[Any],
    work: int,
    *,
    call: Callable[[int], Any],
    torch_call: Callable[[int], Any],
    error: Callable[[Any], float],
    recorded: float,
) -> Load:
    """A load of `work` bytes whose bar is the bandwidth of a copy of one of `xs`."""
    import torch

    target = torch.empty_like(xs[0])
    return Load(
        work=work,
        unit="GB/s",
        ours=call,
        peers={"copy": lambda i: target.copy_(xs[i]), "torch": torch_call},
        copies=len(xs),
        error=error,
        bars={"copy": BAR},
        works={"copy": 2 * xs[0].nbytes},
        recorded=(Recorded(peer="Triton", value=recorded, unit="GB/s"),),
    )


def _normal(dtype: str, *shape: int) -> Any:
    import torch

    return torch.randn(shape, device="cuda", dtype=getattr(torch, dtype))


def _copies(dtype: str, *shape: int) -> list[Any]:
    """Normal numbers, and as many copies as a graph goes round."""
    x = _normal(dtype, *shape)
    return clones(x, copies_of(x.nbytes))
