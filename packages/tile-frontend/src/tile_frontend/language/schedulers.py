"""Schedulers of tiles: classes of the kernel's author whose state is in mutable scalars, and the
one that deals the tiles of a matrix to persistent blocks.

An instance lives while the kernel is traced. Its attributes are Python's, or scalars that the
kernel changes; its methods are traced where they change something.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any, TypeVar

from tile_frontend.language.macros import Macro
from tile_frontend.language.math import ceildiv
from tile_frontend.language.math import max as larger
from tile_frontend.language.math import min as smaller
from tile_frontend.rewrite.source import function_node
from tile_frontend.trace import state
from tile_frontend.trace.buffers import VarRef
from tile_frontend.trace.values import Value, static_int
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.types import i32

__all__ = ["BaseTileScheduler", "PersistentTileScheduler", "meta_class"]

C = TypeVar("C", bound=type)


def _changes_state(method: Any) -> bool:
    """Whether a method assigns to an attribute or an item, so that it has to be traced."""
    for node in ast.walk(function_node(method)):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and any(
            isinstance(part, (ast.Attribute, ast.Subscript))
            for target in targets
            if target is not None
            for part in ast.walk(target)
        ):
            return True
    return False


def _set(self: Any, name: str, value: Any) -> None:
    """Assigning to an attribute that holds a mutable scalar stores to the scalar."""
    old = self.__dict__.get(name)
    if isinstance(value, VarRef) and value.fresh:
        value.fresh = False  # a name bound to the attribute gets the value, not the variable
    elif isinstance(old, VarRef) and value is not old:
        old.store(value)
        return
    object.__setattr__(self, name, value)


def meta_class(cls: C) -> C:
    """Decorate a class whose instances hold `T.alloc_var` state while a kernel is traced.

    Methods that assign to attributes or items are traced in place, as under `T.inline`; the others,
    and those whose names have two leading underscores, run as Python and may build expressions.
    Assigning to an attribute that holds a `T.alloc_var` stores there; `self.x` and `self.x[0]` read
    it.

    Raises `TileError` E1001 where the source of a method is not available.
    Example: `T.meta_class`
    """
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("__") and _changes_state(method):
            setattr(cls, name, Macro(method))
    cls.__setattr__ = _set  # type: ignore[assignment]  # the signature of every __setattr__
    return cls


def _scalar(name: str) -> VarRef:
    """An i32 of the kernel under a name of its own."""
    b = state.builder("a tile scheduler")
    b.need_kernel("a tile scheduler")
    made = Buffer(name=b.fresh(name), dtype=i32, shape=(), scope="var", span=b.span)
    return VarRef(b.alloc(made))


class BaseTileScheduler:
    """State and steps that tile schedulers share; a subclass says which tile an index is.

    `linear_idx` is the index of the tile at hand, `m_idx` and `n_idx` its coordinates, and
    `current_iter` how many tiles this block has finished: all `T.alloc_var` of int32, none of them
    without `stateful`. A subclass sets `_total_tiles` and overrides `update_current_idx(index)`,
    which sets the coordinates.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.BaseTileScheduler("sched")`
    """

    __setattr__ = _set

    def __init__(self, prefix: str = "tile", stateful: bool = True) -> None:
        self._stateful = stateful
        self._total_tiles: Any = 0
        if stateful:
            self.m_idx: Any = _scalar(f"{prefix}_m_idx")
            self.n_idx: Any = _scalar(f"{prefix}_n_idx")
            self.linear_idx: Any = _scalar(f"{prefix}_linear_idx")
            self.current_iter: Any = _scalar(f"{prefix}_iter")

    def update_current_idx(self, linear_idx: Any) -> None:
        """Set `m_idx` and `n_idx` for an index."""
        raise TileError(
            "E1417",
            f"{type(self).__name__} does not say which tile an index is",
            help="override update_current_idx(self, linear_idx) to set self.m_idx and self.n_idx",
        )

    def init(self, linear_init: Any) -> None:
        """Begin at a tile."""
        self._need_state("init")
        self.current_iter = 0
        self.linear_idx = linear_init
        self.update_current_idx(self.linear_idx)

    def next_tile(self, step: Any) -> None:
        """Go `step` tiles on."""
        self._need_state("next_tile")
        self.current_iter = self.current_iter + 1
        self.linear_idx = self.linear_idx + step
        self.update_current_idx(self.linear_idx)

    def valid(self) -> Any:
        """Whether there is a tile at hand, as the condition of a `while`."""
        self._need_state("valid")
        return self.linear_idx < self._total_tiles

    def _need_state(self, what: str) -> None:
        if not self._stateful:
            raise TileError(
                "E1417",
                f"{type(self).__name__}.{what} was called, but it was made with stateful=False",
                help="leave stateful=False out, or ask coord(index) in a loop over indices",
            )


class PersistentTileScheduler(BaseTileScheduler):
    """Deals the tiles of a matrix to persistent blocks: block w gets the tiles w, w + workers, ...

    Tiles are numbered down the columns (`column_major`) or along the rows, in panels of
    `swizzle_size` columns (rows) within which the other axis is walked, for the sake of the cache.

    Args:
        num_m_tiles, num_n_tiles: the grid of tiles, ints or expressions.
        num_workers: how many blocks share the tiles; all blocks of the kernel (divided by
            `cluster_size`) when left out.
        swizzle_size: columns (rows) of a panel; 1 is no panels.
        cluster_size: rows of tiles dealt together; `m_idx` then counts groups of so many rows.
        stateful: False makes no state; `coord(index)` is then all there is.
        name: what its scalars are called; may also stand before the other arguments.

    `init(w)` begins at tile w, `valid()` says whether there is one, `next_tile()` goes on.

    Raises `TileError` E1302 outside a kernel, E1417 for bad sizes.
    Example: `T.PersistentTileScheduler(8, 4, num_workers=2)`
    """

    def __init__(self, *grid: Any, name: str | None = None, **options: Any) -> None:
        if grid and isinstance(grid[0], str):
            name, grid = grid[0], grid[1:]
        super().__init__(name or "tile", stateful=options.get("stateful", True))
        self._setup(*grid, **options)

    def _setup(
        self,
        num_m_tiles: Any,
        num_n_tiles: Any,
        num_workers: Any = None,
        swizzle_size: int = 1,
        column_major: bool = True,
        cluster_size: int = 1,
        stateful: bool = True,
    ) -> None:
        sizes = {"swizzle_size": swizzle_size, "cluster_size": cluster_size}
        for what, size in sizes.items():
            if (static_int(size) or 0) < 1:
                raise TileError(
                    "E1417",
                    f"a tile scheduler has {what}={size!r}",
                    help="it is a positive int, known while tracing",
                )
        rows = ceildiv(num_m_tiles, cluster_size)
        self.cluster_size, self.swizzle_size = cluster_size, swizzle_size
        self.num_workers = _blocks(cluster_size) if num_workers is None else num_workers
        self._column_major = column_major
        self._along, self._across = (rows, num_n_tiles) if column_major else (num_n_tiles, rows)
        self._total_tiles = rows * num_n_tiles

    def coord(self, tile_id: Any) -> tuple[Any, Any]:
        """(m, n) of the tile of an index: an expression, whatever the state."""
        panel = self._along * self.swizzle_size
        first = tile_id // panel * self.swizzle_size
        # An index behind the last tile is asked for too, before `valid` says no.
        width = larger(1, smaller(self.swizzle_size, self._across - first))
        inside = tile_id % panel
        along, across = inside // width, first + inside % width
        return (along, across) if self._column_major else (across, along)

    def update_current_idx(self, linear_idx: Any) -> None:
        """Set `m_idx` and `n_idx` for an index."""
        m, n = self.coord(linear_idx)
        self.m_idx = m
        self.n_idx = n

    def next_tile(self, step: Any = None) -> None:
        """Go to this block's next tile."""
        super().next_tile(self.num_workers if step is None else step)


def _blocks(cluster_size: int) -> Any:
    """How many blocks (groups of `cluster_size` blocks) the kernel around was launched with."""
    b = state.builder("a tile scheduler")
    scope = b.inside("kernel")
    assert scope is not None  # the scalars were made in it
    total = build.const(1, i32)
    for extent in scope.facts["extents"]:
        total = build.mul(total, build.cast(extent, i32))
    return Value(build.floordiv(total, cluster_size))
