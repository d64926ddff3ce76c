"""What programs are made of besides expressions and statements: buffers, regions, functions,
modules."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_ir.diag import Span
    from tile_ir.expr import Expr, Slot, Var
    from tile_ir.layout import Layout
    from tile_ir.opdef import Stmt
    from tile_ir.types import DType


class Stage(Enum):
    """The three vocabularies of the IR; the verifier checks legality per stage."""

    TILE = "tile"
    SCHEDULED = "scheduled"
    SIMT = "simt"


SCOPES = ("global", "shared", "fragment", "local", "var")
"""global: device memory. shared: one copy per block. fragment: a block-wide tile in registers.
local: an array per thread. var: a mutable scalar per thread (rank 0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """A named array of `dtype` elements.

    `shape` has constant extents except in global scope (once planned, also the first extent of a
    shared buffer). `strides` (elements, global only) is None for row-major. `layout` maps
    coordinates to offsets (shared, local, CPU scratch) or threads and registers (fragment): at
    stage `tile` it is a pin of the user's, later the plan's choice. `offset` is the byte offset in
    the block's shared memory. `slots` > 1 puts a leading ring axis, addressed by a channel slot,
    before `shape`.
    """

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    scope: str
    strides: tuple[Expr, ...] | None = None
    layout: Layout | None = None
    offset: int | None = None
    slots: int = 1
    safe_value: Expr | None = None
    """What a read outside a global buffer gives; None is zero."""
    span: Span | None = field(default=None, compare=False)

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class Range:
    """`extent` consecutive coordinates from `start` on one axis."""

    start: Expr
    extent: Expr


@dataclass(frozen=True, slots=True)
class Region:
    """A box of a buffer; unit-extent axes are kept, so `len(ranges)` is the buffer's rank."""

    buffer: str
    ranges: tuple[Range, ...]
    slot: Slot | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """A function parameter: a global buffer, or a scalar passed by value. Exactly one is set."""

    buffer: Buffer | None = None
    scalar: Var | None = None

    @property
    def name(self) -> str:
        """The parameter's name."""
        if self.buffer is not None:
            return self.buffer.name
        assert self.scalar is not None
        return self.scalar.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A host-callable function: parameters, symbolic dimensions, and a body of host statements and
    kernels.

    `dims` are bound at launch from the shapes and strides of the arguments. `results` names the
    parameters that the runtime allocates and the call returns, in order. `body` holds `Kernel`,
    global `Alloc`, `Let`, `If`, `Assert`.
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    dims: tuple[Var, ...] = ()
    results: tuple[str, ...] = ()
    numerics: str = "default"
    stage: Stage = Stage.TILE
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """Functions of one compilation, by unique name."""

    functions: tuple[Function, ...]
