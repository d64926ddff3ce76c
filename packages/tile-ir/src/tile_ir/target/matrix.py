"""Parts of a target description: matrix instructions and micro-kernels, with operand layouts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tile_ir.diag import TileError
from tile_ir.types import dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Home", "MatrixAtom", "Operand"]

Home = Literal["register", "shared", "tensor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One operand of a matrix atom.

    `layout` is the fragment (thread-value) layout of a register operand, or the panel layout of a
    packed one; in it `{n/8}` stands for arithmetic on the atom's m, n, k. `swizzles` are those
    under which the engine reads shared memory directly, best first: a swizzle of b bits has rows
    of `16 << b` bytes along the contiguous axis.
    """

    dtype: str
    homes: tuple[Home, ...] = ("register",)
    layout: str = ""
    swizzles: tuple[str, ...] = ()
    majors: tuple[Literal["k", "mn"], ...] = ("k", "mn")
    """Which axis may be the contiguous one in shared memory."""

    def __post_init__(self) -> None:
        if dtype(self.dtype).name != self.dtype:
            raise TileError(
                "E0913",
                f"{self.dtype!r} is not the canonical name of a type",
                help=f"write {dtype(self.dtype).name}",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixAtom:
    """One matrix instruction or micro-kernel: accumulator[m, n] += a[m, k] * b[k, n].

    With `n_step` the instruction exists for every multiple of `n_step` up to `n`; `at_n` gives
    one of them. `rate` counts multiplications and additions per cycle and core.
    """

    name: str
    m: int
    n: int
    k: int
    a: Operand
    b: Operand
    accumulator: Operand
    engine: Literal["sync", "async"] = "sync"
    threads: int = 1
    """Threads that execute it together: one, a warp, or a matrix group."""
    n_step: int = 0
    rate: float = 0.0
    latency: int = 0
    """Cycles from issue to result."""
    sparse: bool = False

    def __post_init__(self) -> None:
        if min(self.m, self.n, self.k, self.threads) < 1:
            raise TileError(
                "E0913",
                f"atom {self.name} has an extent below 1",
                help="give m, n, k and threads as numbers from 1 up",
            )
        if self.n_step and self.n % self.n_step:
            raise TileError(
                "E0913",
                f"atom {self.name}: n is not a multiple of n_step",
                help=f"give the largest n as a multiple of {self.n_step}, or leave n_step out",
            )

    def widths(self) -> tuple[int, ...]:
        """Return the values of n for which the instruction exists, ascending."""
        step = self.n_step or self.n
        return tuple(range(step, self.n + 1, step))

    def at_n(self, n: int) -> MatrixAtom:
        """Return the atom of width `n`. Raises `TileError` E0913 when there is none."""
        if n not in self.widths():
            widths = self.widths()
            raise TileError(
                "E0913",
                f"atom {self.name} does not exist at n = {n}",
                help=f"take n from {widths[0]} to {widths[-1]} in steps of {widths[0]}",
            )
        return replace(self, n=n, n_step=0)

    def layout(self, operand: Literal["a", "b", "accumulator"]) -> str:
        """Return the operand's layout text with the braces worked out for this m, n and k."""
        text: str = getattr(self, operand).layout
        extents = {"m": self.m, "n": self.n, "k": self.k}
        return _BRACES.sub(lambda match: _arithmetic(match, extents, self.name), text)


_BRACES = re.compile(r"\{([^{}]*)\}")
_TERM = re.compile(r"([mnk]|\d+)(?:([*/])([mnk]|\d+))?\Z")


def _arithmetic(match: re.Match[str], extents: Mapping[str, int], atom: str) -> str:
    term = _TERM.match(match[1].replace(" ", ""))
    if term is None:
        raise TileError(
            "E0913",
            f"atom {atom}: {match[0]} is not x, x*y or x/y of m, n, k",
            help="write one number or extent, or two with * or / between: {n/8}",
        )
    left, right = (extents.get(t) or int(t) if t else 1 for t in (term[1], term[3]))
    if term[2] == "/":
        if left % right:
            raise TileError(
                "E0913",
                f"atom {atom}: {match[0]} is not a whole number",
                notes=(f"{left} / {right} leaves {left % right}",),
                help=f"divide by a number that divides {left}",
            )
        return str(left // right)
    return str(left * right)
