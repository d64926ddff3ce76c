"""The launch of a kernel: its grid of tiles, its threads, and the order in which tiles run."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tile_frontend.trace import state
from tile_frontend.trace.loops import counter_type
from tile_frontend.trace.per_thread import per_thread, without_warp_syncs
from tile_frontend.trace.roles import apart, in_order
from tile_frontend.trace.thread_branches import by_threads, refuse_threads
from tile_frontend.trace.values import Value, expr_of, static_int
from tile_ir.diag import TileError
from tile_ir.expr import Const, Expr
from tile_ir.ops import Kernel as KernelOp
from tile_ir.ops import Tiles

if TYPE_CHECKING:
    from types import TracebackType

    from tile_frontend.trace.builder import Builder
    from tile_ir.opdef import Body

__all__ = ["Kernel", "get_block_binding", "get_block_bindings", "use_swizzle"]

_DEFAULT_THREADS = (128,)
_NAMES = ("bx", "by", "bz")


class Kernel:
    """`with T.Kernel(grid_x, grid_y, threads=128) as (bx, by):` runs its body for every tile of the
    grid.

    Args:
        blocks: one to three extents: ints or expressions of dimensions. An empty grid runs nothing.
        threads: compute threads of a block, an int or up to three; None and "auto" leave the
            default of 128.
            On the CPU they only size what the kernel itself asks about.

    Gives one index, or a list of them. Several kernels of one function run in order.

    Raises `TileError` E1301 inside a kernel, branch or loop, E1303 for bad extents or threads.
    Example: `T.ceildiv(64, 16)`
    """

    def __init__(self, *blocks: Any, threads: Any = None, prelude: str | None = None) -> None:
        if prelude is not None:
            raise TileError(
                "E1503",
                "T.Kernel takes no prelude= here",
                help="write the helper as a T.macro; source text of one device cannot be portable",
            )
        if not 1 <= len(blocks) <= 3:
            raise TileError(
                "E1303", f"T.Kernel takes one to three extents, not {len(blocks)}", help=_GRID_HELP
            )
        self.extents = tuple(_extent(b) for b in blocks)
        self.threads = _threads(threads)

    def __enter__(self) -> Any:
        b = state.builder("T.Kernel")
        if b.on_kernel is not None:
            b.on_kernel()
        if len(b.scopes) > 1:
            raise TileError(
                "E1301",
                "T.Kernel stands inside a kernel, or inside a branch or loop decided at run time",
                b.span,
                notes=("kernels of a function are launched one after the other",),
                help="close the other kernel first, or decide with Python values",
            )
        b.kernels += 1
        self.vars = tuple(
            b.counter(b.hint(_NAMES[n]), dtype=counter_type(e)) for n, e in enumerate(self.extents)
        )
        self.scope = b.open(
            "kernel",
            tiles={},
            kernel={},
            vars=self.vars,
            extents=self.extents,
            threads=self.threads,
        )
        values = [Value(v) for v in self.vars]
        return values[0] if len(values) == 1 else values

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        b = state.builder("T.Kernel")
        span, facts = self.scope.span, self.scope.facts
        body = b.close(self.scope)
        for message, place in b.unfinished.values():
            raise TileError(
                "E1418",
                message,
                place,
                notes=("what was contributed to it would be lost",),
                help="call T.finalize_reducer in the block that opened it, behind the loops",
            )
        if b.manual or b.names_threads:
            body = _of_threads(b, body, prod(self.threads))
        tiles = Tiles(vars=self.vars, extents=self.extents, body=body, span=span, **facts["tiles"])
        name = b.name if b.kernels == 1 else f"{b.name}_{b.kernels}"
        b.emit(
            KernelOp(name=name, threads=self.threads, body=(tiles,), span=span, **facts["kernel"])
        )


def _of_threads(b: Builder, body: Body, threads: int) -> Body:
    """A tile body of roles, and of what threads do by number."""
    body = apart(by_threads(body, b.groups, threads), b.groups, threads)
    if b.manual or b.groups:
        body = in_order(body)
    if b.names_threads and not b.groups:
        body = per_thread(body, threads, b.buffers(body), b.fresh, b.idle)
    refuse_threads(body)
    body = without_warp_syncs(body)
    b.manual, b.names_threads, b.groups, b.idle = False, False, {}, {}
    return body


_GRID_HELP = "an extent is a non-negative integer, such as T.ceildiv(N, block_N)"


def _extent(x: Any) -> Expr:
    expr = expr_of(x)
    bad = not expr.dtype.is_int or (isinstance(expr, Const) and expr.value < 0)
    if bad:
        raise TileError("E1303", f"T.Kernel has a grid extent {x!r}", help=_GRID_HELP)
    return expr


def _threads(given: Any) -> tuple[int, ...]:
    if given is None or given == "auto":
        return _DEFAULT_THREADS
    items = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    counts = [static_int(t) for t in items]
    if not 1 <= len(items) <= 3 or any(c is None or c < 1 for c in counts):
        raise TileError(
            "E1303",
            f"T.Kernel has threads={given!r}",
            help="threads is a positive int, or up to three of them, known while tracing",
        )
    return tuple(c for c in counts if c is not None)


def use_swizzle(panel_size: int, order: str = "row", enable: bool = True) -> None:
    """Run the tiles of the grid in panels of `panel_size`, so that neighbours share operands in
    cache.

    `order` is "row" or "column". Results do not depend on it.

    Raises `TileError` E1302 outside a kernel, E1416 for a bad size or order.
    Example: `T.use_swizzle(10)`
    """
    b = state.builder("T.use_swizzle")
    scope = b.inside("kernel")
    if scope is None:
        b.need_kernel("T.use_swizzle")
        return
    size = static_int(panel_size)
    if size is None or size < 1 or order not in ("row", "column", "mlx"):
        raise TileError(
            "E1416",
            f"T.use_swizzle({panel_size!r}, order={order!r})",
            help='the panel size is a positive int, the order "row" or "column"',
        )
    if enable:
        scope.facts["tiles"].update(raster="row" if order == "mlx" else order, panel=size)


def get_block_binding(dim: int = 0) -> Value:
    """The index of the tile along grid axis `dim`, what `T.Kernel` gave at its entry.

    Raises `TileError` E1302 outside a kernel, E1303 for an axis that the grid lacks.
    Example: `T.get_block_binding(0)`
    """
    found = get_block_bindings()
    if not 0 <= dim < len(found):
        raise TileError(
            "E1303",
            f"the grid has {len(found)} axes, no axis {dim}",
            help=f"axes are counted from 0 to {len(found) - 1}",
        )
    return found[dim]


def get_block_bindings() -> list[Value]:
    """The indices of the tile along all grid axes.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.get_block_bindings()`
    """
    b = state.builder("T.get_block_bindings")
    scope = b.inside("kernel")
    if scope is None:
        b.need_kernel("T.get_block_bindings")
        return []
    return [Value(v) for v in scope.facts["vars"]]
