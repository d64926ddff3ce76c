"""Asynchronous matrix instructions in one thread's program: operands in shared tiles, the result in
registers once the group settles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.interp.async_copies import started
from tile_ir.interp.compute import accumulated, product
from tile_ir.interp.phases import Action
from tile_ir.interp.registers import register_matrix, register_places
from tile_ir.interp.schedule import engines_of
from tile_ir.interp.shared_tiles import Box
from tile_ir.interp.threads import TOGETHER, active, of_thread

if TYPE_CHECKING:
    from tile_ir.core import Region
    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env
    from tile_ir.interp.storage import Array
    from tile_ir.ops import Atom
    from tile_ir.target import MatrixAtom

__all__ = ["issued_atom"]

Elements = Callable[[], "Array"]
"""The elements of an operand when the instruction happens."""
Operand = Callable[["Env", int, "MatrixAtom"], Elements]
"""The operand of the group that begins with a thread: its place is found at once."""


def issued_atom(cx: Compiler, s: Atom) -> Callable[[Env], None]:
    """An instruction that groups of threads issue together."""
    init = None if s.init is None else cx.expr(s.init)
    a, b = _operand(cx, s.a, s.transpose_a), _operand(cx, s.b, s.transpose_b)
    c_at, threads = cx.expr(s.c.ranges[-1].start), cx.threads
    a_type, b_type, c_type = (cx.buffers[r.buffer].dtype for r in (s.a, s.b, s.c))
    n = s.b.ranges[-2 if s.transpose_b else -1].extent
    assert isinstance(n, Const)  # instructions have fixed shapes
    width = int(n.value)

    def issued(env: Env, base: int, known: MatrixAtom, fresh: bool) -> Action:
        x, y = a(env, base, known), b(env, base, known)
        rows, columns = register_places(known, "accumulator")
        at = of_thread(c_at(env), base)
        held = env.bufs[s.c.buffer].array[base : base + known.threads, at : at + rows.shape[1]]

        def finish() -> None:
            found, exact = product(x(), a_type, y(), b_type)
            old = None if fresh else register_matrix(held, known, "accumulator")[0]
            held[...] = accumulated(found, exact, old, c_type)[rows, columns]

        return started(env, Action(finish))

    def run(env: Env) -> None:
        target = env.run.target
        if target is None or s.name not in target.matrix:
            why = f"no description of the matrix instruction {s.name}"
            fix = f"pass run(..., target=) one that has {s.name}"
            raise TileError("E0513", why, s.span, help=fix)
        known = target.matrix[s.name].at_n(width)
        new = None if init is None else init(env)
        here = active(env, threads)
        if here.size % known.threads:
            why = f"only some threads come to {s.name}"
            raise TileError("E0512", why, s.span, help=TOGETHER)
        for base in map(int, here[:: known.threads]):
            fresh = new is not None and bool(of_thread(new, base))
            engines_of(env).issue("mma", issued(env, base, known, fresh))

    return run


def _operand(cx: Compiler, region: Region, turned: bool) -> Operand:
    if cx.buffers[region.buffer].scope != "shared":
        return _in_registers(cx, region)
    box = Box(cx, region)

    def in_memory(env: Env, base: int, known: MatrixAtom) -> Elements:
        at, storage = box.offsets(box.corner(env, base)), env.bufs[region.buffer]
        flat = at.reshape(at.shape[-2:])
        return lambda: storage.array[flat.T if turned else flat]

    return in_memory


def _in_registers(cx: Compiler, region: Region) -> Operand:
    start = cx.expr(region.ranges[-1].start)

    def in_registers(env: Env, base: int, known: MatrixAtom) -> Elements:
        values = known.m * known.k // known.threads
        at = of_thread(start(env), base)
        held = env.bufs[region.buffer].array[base : base + known.threads, at : at + values]
        return lambda: register_matrix(held, known, "a")[0]

    return in_registers
