"""The meaning of matrix instructions: on regions of tiles the product, on registers the product of
what the description says they hold.

One generic rule serves every instruction: its operand layouts tell which element of the matrix each
lane has in each register.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.diag import TileError
from tile_ir.expr import Const, Load, Ramp
from tile_ir.interp.compiler import rule
from tile_ir.interp.compute import accumulated, define, matmul, product
from tile_ir.interp.issued_atoms import issued_atom
from tile_ir.interp.regions import reading, writing
from tile_ir.interp.registers import register_matrix, register_places
from tile_ir.interp.threads import TOGETHER, active, of_thread
from tile_ir.ops import Atom, MatrixLoad, MatrixStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env
    from tile_ir.interp.regions import Tile
    from tile_ir.interp.registers import Which
    from tile_ir.interp.storage import Array
    from tile_ir.target import MatrixAtom


@rule(Atom)
def atom(cx: Compiler, s: Atom) -> Callable[[Env], None]:
    """c (+)= a @ b, whatever instruction it is."""
    if not cx.threads:
        return matmul(cx, s)
    if cx.buffers[s.b.buffer].scope == "shared":  # only an asynchronous one reads it there
        return issued_atom(cx, s)
    init = None if s.init is None else cx.expr(s.init)
    a, b, c = reading(cx, s.a), reading(cx, s.b), writing(cx, s.c)

    def run(env: Env) -> None:
        known = _described(env, s)
        x, y = _matrix(env, a, known, "a"), _matrix(env, b, known, "b")
        fresh = init is not None and bool(np.all(_here(env, init(env))))
        old = None if fresh else _matrix(env, c, known, "accumulator")
        found, exact = product(x, a.dtype, y, b.dtype)
        total = accumulated(found, exact, old, c.dtype)
        rows, columns = register_places(known, "accumulator")
        registers = _registers(env, c)
        _put(env, registers, total[:, rows, columns].reshape(registers.shape))

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
        if not _whole_groups(env, 32):
            raise TileError(
                "E0512", "only some threads come to a matrix_load", s.span, help=TOGETHER
            )
        registers = _registers(env, dst)
        matrices = np.broadcast_to(rows_of(env), (threads, 8)).reshape(-1, 4, 8, 8)
        matrices = matrices[:, : registers.shape[-1] // 2]
        held = matrices[:, :, column, row] if s.transpose else matrices[:, :, row, column]
        _put(env, registers, np.moveaxis(held, 1, 2).reshape(registers.shape))
        define(env, dst)

    return run


@rule(MatrixStore)
def matrix_store(cx: Compiler, s: MatrixStore) -> Callable[[Env], None]:
    """Each lane's pairs go to the rows that lanes name."""
    start, first, threads = (
        cx.expr(s.row.ranges[-1].start),
        cx.expr(s.src.ranges[-1].start),
        cx.threads,
    )
    count = s.src.ranges[-1].extent
    assert isinstance(count, Const)  # the verifier's rule
    held, lane = int(count.value), np.arange(32)
    row, column = lane[:, None] // 4, 2 * (lane[:, None] % 4) + np.arange(2)
    place = (column, row) if s.transpose else (row, column)

    def run(env: Env) -> None:
        if not _whole_groups(env, 32):
            why = "only some threads come to a matrix_store"
            raise TileError("E0512", why, s.span, help=TOGETHER)
        rows = np.broadcast_to(np.asarray(start(env)), (threads,))
        registers, target = env.bufs[s.src.buffer].array, env.bufs[s.row.buffer]
        for base in map(int, active(env, threads)[::32]):
            at = of_thread(first(env), base)
            mine = registers[base : base + 32, at : at + held].reshape(32, -1, 2)
            for k in range(held // 2):
                tile = np.zeros((8, 8), mine.dtype)
                tile[place] = mine[:, k]
                where = rows[base + 8 * k : base + 8 * k + 8, None] + np.arange(8)
                target.array[where] = tile
                if target.defined is not None:
                    target.defined[where] = True

    return run


def _here(env: Env, value: Any) -> Any:
    """What the active threads have of a value."""
    array = np.asarray(value)
    return array if env.mask is None or array.ndim == 0 else array[env.mask]


def _put(env: Env, registers: Array, value: Array) -> None:
    """Set the registers of the active threads."""
    if env.mask is None:
        registers[...] = value
    else:
        registers[env.mask] = value[env.mask]


def _whole_groups(env: Env, size: int) -> bool:
    """Whether so many neighbouring threads are all here or all elsewhere."""
    if env.mask is None:
        return True
    groups = env.mask.reshape(-1, size)
    return bool(np.all(groups.all(axis=1) | ~groups.any(axis=1)))


def _described(env: Env, s: Atom) -> MatrixAtom:
    target = env.run.target
    found = None if target is None else target.matrix.get(s.name)
    if found is None:
        why = f"no description of the matrix instruction {s.name}"
        raise TileError("E0513", why, s.span, help=f"pass run(..., target=) one that has {s.name}")
    if not _whole_groups(env, found.threads):
        why = f"only some threads come to the instruction {s.name}"
        raise TileError("E0512", why, s.span, help=TOGETHER)
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
    return register_matrix(_registers(env, tile), known, which)
