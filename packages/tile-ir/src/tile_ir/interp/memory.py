"""The meaning of the ops that declare and move memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.expr import Const
from tile_ir.interp.arith import as_array
from tile_ir.interp.compiler import rule
from tile_ir.interp.regions import all_defined, fit, reading, writing
from tile_ir.interp.shared_tiles import is_tile, run_length, twin
from tile_ir.interp.storage import allocate, array_shape
from tile_ir.interp.stores import combiner, compile_update, compile_write
from tile_ir.interp.threads import Trace, private
from tile_ir.interp.views import view_of
from tile_ir.numerics.array import convert_array
from tile_ir.ops import (
    Alloc,
    Atomic,
    AtomicTile,
    Convert,
    Copy,
    Fill,
    Let,
    Store,
    Transpose,
    View,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Buffer
    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env, Eval
    from tile_ir.interp.regions import Tile
    from tile_ir.types import DType


def shape_of(cx: Compiler, buffer: Buffer) -> Callable[[Env], tuple[int, ...]]:
    """The evaluator of a buffer's shape, its slots first."""
    lead = (buffer.slots,) if buffer.slots > 1 else ()
    if all(isinstance(e, Const) for e in buffer.shape):
        fixed = (*lead, *(int(e.value) for e in buffer.shape if isinstance(e, Const)))
        return lambda env: fixed
    extents = [cx.expr(e) for e in buffer.shape]
    return lambda env: (*lead, *(e(env) for e in extents))


def _run_of(tile: Buffer) -> Callable[[Env], tuple[int, ...]]:
    length = run_length(tile)
    return lambda env: (length,)


@rule(Alloc)
def alloc(cx: Compiler, s: Alloc) -> Callable[[Env], None]:
    """Fresh memory, poisoned. Shared memory is one for all threads of the block that get here
    together.
    """
    b = s.buffer
    tile = is_tile(cx, b)
    shape = _run_of(b) if tile else shape_of(cx, b)
    track, other = b.name not in cx.viewed, twin(cx, b)
    safe = None if b.safe_value is None else cx.expr(b.safe_value)
    joint = b.scope == "shared" and cx.role != ""
    copies = (cx.threads,) if private(cx, b) else ()
    traced = cx.threads > 0 and b.scope == "shared"
    seen_by_peers = b.scope == "shared" and bool(cx.cluster)

    def run(env: Env) -> None:
        box = (*copies, *shape(env))
        made = allocate(b.name, b.dtype, b.scope, box, track and env.run.debug)
        if traced and env.run.debug:
            made.trace = Trace(b.name, box)
        if safe is not None:
            made.safe = safe(env)
        if s.kept:
            made.array[...] = 0
            made.defined = None
        if joint:
            made = env.block.shared.setdefault(b.name, made)
        if tile or seen_by_peers:
            env.block.tiles[b.name] = made
        if other is not None and other in env.bufs:  # or it is of another kernel
            made.array, made.defined = env.bufs[other].array, env.bufs[other].defined
        env.bufs[b.name] = made

    return run


@rule(View)
def view(cx: Compiler, s: View) -> Callable[[Env], None]:
    """The same memory under another shape and dtype."""
    b, shape = s.buffer, shape_of(cx, s.buffer)

    def run(env: Env) -> None:
        made, source = view_of(env.bufs[s.source], b.name, b.dtype, shape(env))
        env.bufs[b.name], env.bufs[s.source] = made, source

    return run


@rule(Let)
def let(cx: Compiler, s: Let) -> Callable[[Env], None]:
    """Bind a value; an array is copied, for the memory that it shows may change."""
    name, value = s.var.name, cx.expr(s.value)
    if not cx.is_array(s.value):

        def scalar(env: Env) -> None:
            env.vars[name] = value(env)

        return scalar
    cx.bind_lanes(s.var)

    def run(env: Env) -> None:
        x = value(env)
        env.vars[name] = np.array(x) if isinstance(x, np.ndarray) else x

    return run


def _moved(src: Tile, dst: Tile, *, clip: bool) -> Callable[[Env], None]:
    """Move a box, converting."""
    convert = None if src.dtype is dst.dtype else _converter(src.dtype, dst.dtype)

    def run(env: Env) -> None:
        (a, a_def), (b, b_def) = src.memory(env), dst.memory(env)
        i, j = src.index(env, a.shape), dst.index(env, b.shape)
        if i is None or j is None:
            _clipped(env, src, dst, clip, None)
            return
        x = a[i]
        if convert is not None:
            x = convert(x)
        shape = b[j].shape
        b[j] = x if x.shape == shape else fit(x, shape)
        if b_def is not None:
            b_def[j] = True if a_def is None else fit(a_def[i], shape)

    return run


def _converter(src: DType, dst: DType) -> Callable[[Any], Any]:
    return lambda x: convert_array(np.asarray(x), src, dst)


def _clipped(env: Env, src: Tile, dst: Tile, clip: bool, kind: str | None) -> None:
    """Move (or, with `kind`, combine) boxes that leave their buffers: outside reads safe, writes
    nothing.
    """
    (a, a_def), (b, b_def) = src.memory(env), dst.memory(env)
    if not clip and env.run.debug:
        inside = src.index(env, a.shape) is not None
        tile, array, what = (dst, b, "write") if inside else (src, a, "read")
        raise tile.sticks_out(env, array.shape, what)
    cut_a, cut_b = src.cut(env, a.shape), dst.cut(env, b.shape)
    storage = src.storage(env)
    safe = convert_array(as_array(storage.safe, src.dtype), src.dtype, dst.dtype)
    full = np.full(array_shape(cut_a.box, dst.dtype), safe)
    full[cut_a.of_box] = convert_array(a[cut_a.of_buffer], src.dtype, dst.dtype)
    x = fit(full, array_shape(cut_b.box, dst.dtype))[cut_b.of_box]
    b[cut_b.of_buffer] = x if kind is None else combiner(kind, dst.dtype)(b[cut_b.of_buffer], x)
    if b_def is not None:
        known = np.ones(cut_a.box, np.bool_)
        if a_def is not None:
            known[cut_a.of_box] = a_def[cut_a.of_buffer]
        b_def[cut_b.of_buffer] = fit(known, cut_b.box)[cut_b.of_box]


@rule(Copy)
def copy(cx: Compiler, s: Copy) -> Callable[[Env], None]:
    """dst = src, element by element."""
    return _moved(reading(cx, s.src), writing(cx, s.dst), clip=s.clip)


@rule(Convert)
def convert(cx: Compiler, s: Convert) -> Callable[[Env], None]:
    """A change of layout does not change values."""
    return _moved(reading(cx, s.src), writing(cx, s.dst), clip=False)


@rule(Transpose)
def transpose(cx: Compiler, s: Transpose) -> Callable[[Env], None]:
    """dst[..., j, i] = src[..., i, j]."""
    src, dst = reading(cx, s.src), writing(cx, s.dst)
    change = None if src.dtype is dst.dtype else _converter(src.dtype, dst.dtype)

    def run(env: Env) -> None:
        x = np.swapaxes(src.view(env), -1, -2)
        target = dst.view(env)
        target[...] = fit(x if change is None else change(x), target.shape)
        all_defined(env, dst)

    return run


@rule(Fill)
def fill(cx: Compiler, s: Fill) -> Callable[[Env], None]:
    """Every element of dst is the value."""
    dst, value = writing(cx, s.dst), cx.expr(s.value)

    def run(env: Env) -> None:
        array, defined = dst.memory(env)
        index = dst.index(env, array.shape)
        if index is None:
            if not s.clip and env.run.debug:
                raise dst.sticks_out(env, array.shape, "fill")
            index = dst.cut(env, array.shape).of_buffer
        array[index] = value(env)
        if defined is not None:
            defined[index] = True

    return run


@rule(Store)
def store(cx: Compiler, s: Store) -> Callable[[Env], None]:
    """One element, or one for each lane."""
    write = compile_write(cx, s.buffer, s.indices, s.value, s.slot, clip=s.clip)
    value = cx.expr(s.value)

    def run(env: Env) -> None:
        write(env, value(env))

    return run


@rule(Atomic)
def atomic(cx: Compiler, s: Atomic) -> Callable[[Env], None]:
    """Read, combine, write; lanes one after another in row-major order."""
    dt = s.value.dtype
    change, value = (
        compile_update(cx, s.buffer, s.indices, s.kind, dt, clip=s.clip),
        cx.expr(s.value),
    )
    result = None if s.result is None else s.result.name
    one: Eval | Any = (lambda x: x) if dt.is_float else int

    def run(env: Env) -> None:
        old = change(env, value(env))
        if result is not None:
            env.vars[result] = one(old)

    return run


@rule(AtomicTile)
def atomic_tile(cx: Compiler, s: AtomicTile) -> Callable[[Env], None]:
    """Each element of src combined into dst; no two of one statement meet."""
    src, dst = reading(cx, s.src), writing(cx, s.dst)
    combine = combiner(s.kind, dst.dtype)

    def run(env: Env) -> None:
        a, b = src.memory(env)[0], dst.memory(env)[0]
        i, j = src.index(env, a.shape), dst.index(env, b.shape)
        if i is None or j is None:
            _clipped(env, src, dst, s.clip, s.kind)
            return
        x = convert_array(np.asarray(a[i]), src.dtype, dst.dtype)
        b[j] = combine(b[j], fit(x, np.shape(b[j])))

    return run
