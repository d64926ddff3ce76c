"""Variants of a kernel: the one for arguments that the fast one does not take, what was built and
why, and the end of building.

A kernel is compiled for arrays as allocators make them: engines that copy whole boxes want rows a
multiple of some bytes apart, and wide accesses want their start aligned. A description without
those engines and with accesses of one element gives code for any address and any row, from the same
program and the same passes.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from tile_frontend.trace.element_types import LONG_NAMES
from tile_frontend.trace.places import here
from tile_ir.diag import TileError
from tile_ir.target import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_frontend.kernel import JITKernel
    from tile_frontend.target_select import Target
    from tile_ir.core import Function

__all__ = ["Row", "Variants", "asked_text", "not_built", "plain", "row_of", "signature_text"]


def plain(target: Target) -> Target:
    """The target as if it had no asynchronous engines and no access wider than an element."""
    spec = target.spec
    matrix = {name: atom for name, atom in spec.matrix.items() if atom.engine == "sync"}
    narrow = replace(spec, matrix=Table(matrix), copy=Table(), access_bytes=(1,))
    return replace(target, spec=narrow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One built variant.

    `key`: of its entry in the cache. `parameters`: types and extents. `target`: for what. `why`:
    what it is made for, and what asked for it. `source`: "compiled" here, or found on "disk".
    `seconds`: how long it took to get. `reused`: how often other arguments were found to need it as
    well, in memory.
    """

    name: str
    parameters: str
    target: str
    why: str
    source: str
    seconds: float
    reused: int
    key: str


@dataclass(frozen=True, slots=True)
class Variants:
    """The built variants of a kernel, in the order of asking for them. As text they are a table."""

    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Row:
        return self.rows[i]

    def __str__(self) -> str:
        head = tuple(f.name for f in fields(Row))
        cells = [tuple(map(_cell, astuple(row))) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        lines = (
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in (head, *cells)
        )
        return "\n".join(lines)


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def row_of(kernel: JITKernel, asked: str = "", reused: int = 0) -> Row:
    """What there is to say of a kernel; `asked` is what it was built for."""
    decision, compiled = kernel.variant_decision(), kernel.compiled
    why = f"{decision.value}: {decision.reason}" if decision.reason else str(decision.value)
    return Row(
        name=kernel.function.name,
        parameters=signature_text(kernel.function),
        target=str(kernel.target),
        why=f"{why}; {asked}" if asked else why,
        source="disk" if compiled.cached else "compiled",
        seconds=sum(compiled.seconds.values()),
        reused=reused,
        key=compiled.library_path.parent.name,
    )


def signature_text(function: Function) -> str:
    """Parameters with types and extents: `A: float16[64, K], alpha: float32`."""
    told = []
    for p in function.params:
        if p.buffer is None:
            assert p.scalar is not None
            told.append(f"{p.name}: {LONG_NAMES[p.scalar.dtype.scalar.name]}")
            continue
        extents = ", ".join(str(e) for e in p.buffer.shape)
        told.append(f"{p.name}: {LONG_NAMES[p.buffer.dtype.scalar.name]}[{extents}]")
    return ", ".join(told)


def asked_text(key: tuple[Any, ...]) -> str:
    """What a key of a kernel says of the call that needed it: Python arguments, dimensions."""
    parts = [part for part in key if isinstance(part, tuple)]
    pairs = [pair for part in parts for pair in (part if _is_pairs(part) else [part])]
    told = [f"{name}={_plain_value(value)}" for name, value in (p for p in pairs if len(p) == 2)]
    return f"for {', '.join(told)}" if told else ""


def _is_pairs(part: tuple[Any, ...]) -> bool:
    return all(isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str) for p in part)


def _plain_value(value: Any) -> Any:
    """A value of `specialize.frozen` without its type."""
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], type)):
        return value
    return float.fromhex(value[1]) if value[0] is float else value[1]


def not_built(function: Function, variant: str, built: tuple[str, ...]) -> TileError:
    """E2404: a frozen kernel lacks a variant; `built` are those that it has."""
    return TileError(
        "E2404",
        f"{function.name} is frozen, and its variant {variant} was not built",
        here(),
        notes=tuple(f"built: {b}" for b in built) or ("nothing was built",),
        help="build it before freezing: call the kernel with such arguments, or use compile(...)",
    )
