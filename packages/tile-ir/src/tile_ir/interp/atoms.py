"""The meaning of matrix instructions: on regions of tiles the product, on registers the product of
what the description says they hold.

One generic rule serves every instruction: its operand layouts tell which element of the matrix each
lane has in each register.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tile_ir.diag import TileError
from tile_ir.expr import Load, Ramp
from tile_ir.interp.compiler import rule
from tile_ir.interp.compute import accumulated, define, matmul, product
from tile_ir.interp.regions import reading, writing
from tile_ir.layout import parse_layout
from tile_ir.ops import Atom, MatrixLoad

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env
    from tile_ir.interp.regions import Tile
    from tile_ir.interp.storage import Array
    from tile_ir.target import MatrixAtom

Which = Literal["a", "b", "accumulator"]
_AXES: dict[Which, str] = {"a": "mk", "b": "kn", "accumulator": "mn"}


@rule(Atom)
def atom(cx: Compiler, s: Atom) -> Callable[[Env], None]:
    """c (+)= a @ b, whatever instruction it is."""
    if not cx.threads:
        return matmul(cx, s)
    init = None if s.init is None else cx.expr(s.init)
    a, b, c = reading(cx, s.a), reading(cx, s.b), writing(cx, s.c)

    def run(env: Env) -> None:
        known = _described(env, s)
        x, y = _matrix(env, a, known, "a"), _matrix(env, b, known, "b")
        fresh = init is not None and bool(np.all(init(env)))
        old = None if fresh else _matrix(env, c, known, "accumulator")
        found, exact = product(x, a.dtype, y, b.dtype)
        total = accumulated(found, exact, old, c.dtype)
        rows, columns = _places(known, "accumulator")
        registers = _registers(env, c)
        registers[...] = total[:, rows, columns].reshape(registers.shape)

    return run


@rule(MatrixLoad)
def matrix_load(cx: Compiler, s: MatrixLoad) -> Callable[[Env], None]:
    """Each lane reads the row that it names; then every lane has its part of each matrix."""
    dt = cx.buffers[s.row.buffer].dtype
    *outer, last = (r.start for r in s.row.ranges)
    along = Ramp(last, 1, last.dtype.with_lanes(8))
    rows_of = cx.expr(Load(s.row.buffer, (*outer, along), dt.with_lanes(8)))
    dst, threads = writing(cx, s.dst), cx.threads
    lane = np.arange(32)
    row, column = lane[:, None] // 4, 2 * (lane[:, None] % 4) + np.arange(2)

    def run(env: Env) -> None:
        if env.mask is not None and not env.mask.all():
            raise TileError("E0512", "only some threads come to a matrix_load", s.span)
        registers = _registers(env, dst)
        matrices = np.broadcast_to(rows_of(env), (threads, 8)).reshape(-1, 4, 8, 8)
        matrices = matrices[:, : registers.shape[-1] // 2]
        held = matrices[:, :, column, row] if s.transpose else matrices[:, :, row, column]
        registers[...] = np.moveaxis(held, 1, 2).reshape(registers.shape)
        define(env, dst)

    return run


def _described(env: Env, s: Atom) -> MatrixAtom:
    target = env.run.target
    found = None if target is None else target.matrix.get(s.name)
    if found is None:
        raise TileError("E0513", f"no description of the matrix instruction {s.name}", s.span)
    if env.mask is not None and not env.mask.all():
        raise TileError("E0512", f"only some threads come to the instruction {s.name}", s.span)
    return found


def _registers(env: Env, tile: Tile) -> Array:
    """The registers of a region, one row for each thread."""
    array, _ = tile.memory(env)
    index = tile.index(env, array.shape[1:], keep=True)
    if index is None:
        raise tile.sticks_out(env, array.shape[1:], "access")
    every_thread = (slice(None), *index)
    found: Array = array[every_thread]
    return found


def _matrix(env: Env, tile: Tile, known: MatrixAtom, which: Which) -> Array:
    """One matrix for each group of threads that executes the instruction together."""
    registers = _registers(env, tile)
    rows, columns = _places(known, which)
    shape = tuple(getattr(known, axis) for axis in _AXES[which])
    held = registers.reshape(-1, *rows.shape)
    found = np.zeros((len(held), *shape), held.dtype)
    found[:, rows, columns] = held
    return found


@lru_cache(maxsize=64)
def _places(known: MatrixAtom, which: Which) -> tuple[Array, Array]:
    """Row and column of each (lane, register)."""
    layout = parse_layout(known.layout(which))
    lanes, values = layout.input_shape[-2:]
    point: tuple[Any, ...] = (np.arange(lanes)[:, None], np.arange(values)[None, :])
    by_axis = dict(zip(layout.output_names, layout.evaluate(point), strict=True))
    row, column = (np.broadcast_to(by_axis[a], (lanes, values)) for a in _AXES[which])
    return row, column
