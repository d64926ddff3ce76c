"""The steps of random kernels: each adds a few statements that leave every tile defined and its
bounds known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tile_ir import build, types
from tile_ir.core import Buffer
from tile_ir.ops import (
    Atomic,
    Copy,
    Fill,
    For,
    Gemm,
    If,
    Let,
    Parallel,
    Reduce,
    Scan,
    Store,
    Transpose,
    View,
)
from tile_ir.testing.random.expressions import expression
from tile_ir.testing.random.tiles import Kernelet, Result, Source, Tile
from tile_ir.testing.random.values import ALL, LIMIT, STORAGE, Value, bounded, converted

if TYPE_CHECKING:
    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Stmt
    from tile_ir.types import DType

ZERO, ONE = build.const(0), build.const(1)


def storable(work: Kernelet, source: Value, wanted: DType | None = None) -> DType:
    """A type that a copy may convert the value to without telling implementations apart."""
    dt = wanted or work.rng.choice(ALL)
    if dt.is_float != source.dtype.is_float and not (source.exact and source.dtype.is_float):
        return source.dtype
    return dt if converted(source, dt) is not None else source.dtype


def load_tile(work: Kernelet, sources: list[Source]) -> None:
    """Copy the tile's part of global memory, converting."""
    found = work.rng.choice([s for s in sources if set(s.kind) <= {"m", "n"}])
    value = work.global_at(found, {"m": ZERO, "n": ZERO})
    dt = storable(work, value) if work.rng.random() < 0.4 else found.buffer.dtype
    if dt in STORAGE:
        dt = types.f32 if dt.is_float else types.i32
    tile = work.new_tile(dt, found.kind)
    work.emit(Copy(src=work.region(found), dst=build.whole(tile.buffer), clip=True))
    held = converted(value, dt)
    tile.holds(held if held is not None else value)
    work.tiles.append(tile)


def _variables(work: Kernelet, kind: str) -> tuple[dict[str, Expr], tuple[Var, ...]]:
    made = {letter: work.var("i" if letter == "m" else "j") for letter in kind}
    return dict(made), tuple(made.values())


def _mirrored(work: Kernelet, indices: dict[str, Expr], letter: str) -> Expr:
    extent = work.extents(letter)[0]
    return build.sub(extent - 1, indices[letter])


def leaves(work: Kernelet, indices: dict[str, Expr], target: Tile | None) -> list[Value]:
    """What an iteration may read: tiles at its place (others than its target anywhere), global
    memory, indices.
    """
    rng, found = work.rng, list(work.scalars)
    for tile in work.tiles:
        if not set(tile.kind) <= set(indices):
            continue
        at = [indices[letter] for letter in tile.kind]
        if tile is not target and at and rng.random() < 0.15:
            at[-1] = _mirrored(work, indices, tile.kind[-1])
        found.append(tile.at(at))
    found += [
        work.global_at(source, indices, rng.choice((0, 0, -1, 1)))
        for source in work.sources
        if set(source.kind) <= set(indices) and rng.random() < 0.3
    ]
    found += [Value(e) for e in indices.values()]
    return found


def _loop(work: Kernelet, kind: str, variables: tuple[Var, ...], body: list[Stmt]) -> Parallel:
    extents = tuple(build.const(n) for n in work.extents(kind))
    width = work.rng.choice((0, 0, 0, 4))
    return Parallel(vars=variables, extents=extents, width=width, body=tuple(body))


def _target(work: Kernelet) -> tuple[Tile, bool]:
    """A tile to compute: one that exists, or a new one."""
    rng = work.rng
    if work.tiles and (work.nested or rng.random() < 0.5):
        return rng.choice(work.tiles), False
    return work.new_tile(rng.choice(ALL), rng.choice(("mn", "mn", "mn", "m", "n"))), True


def elementwise(work: Kernelet) -> None:
    """A box of independent iterations that store an expression, perhaps with a name, a branch."""
    rng = work.rng
    target, new = _target(work)
    indices, variables = _variables(work, target.kind)
    at = tuple(indices.values())
    available = leaves(work, indices, None if new else target)
    body: list[Stmt] = []
    if rng.random() < 0.3:
        named = expression(rng, rng.choice(ALL), available, 2)
        var = work.var("x", named.dtype)
        body.append(Let(var=var, value=named.expr))
        available.append(Value(var, named.size, named.error))
    value = expression(rng, target.buffer.dtype, available, rng.randint(1, 3))
    store = Store(buffer=target.buffer.name, indices=at, value=value.expr)
    if not new and rng.random() < 0.3:
        cond = expression(rng, types.bool_, available, 1)
        body.append(If(cond=cond.expr, then=(store,)))
        target.holds(value)
    else:
        body.append(store)
        target.size, target.error = value.size, value.error
    work.emit(_loop(work, target.kind, variables, body))
    if new:
        work.tiles.append(target)


def _scaled(work: Kernelet, tile: Tile, size: float, error: float) -> None:
    """Bring a float tile that may exceed the limit back below it by a power of two."""
    if size <= LIMIT:
        tile.size, tile.error = size, error
        return
    factor = 1.0
    while size * factor > LIMIT:
        factor /= 2
    indices, variables = _variables(work, tile.kind)
    at = tuple(indices.values())
    scaled = build.mul(build.load(tile.buffer, at), build.const(factor, tile.buffer.dtype))
    store = Store(buffer=tile.buffer.name, indices=at, value=scaled)
    work.emit(_loop(work, tile.kind, variables, [store]))
    tile.size = size * factor
    tile.error = error * factor + tile.buffer.dtype.eps * tile.size


def _summed(dt: DType, count: int, size: float, error: float) -> tuple[float, float]:
    """Bounds of a sum of `count` values, added in f32 or better and rounded to `dt`."""
    total = count * size
    return total, count * error + total * (count * types.f32.eps + dt.eps)


def reduce_tile(work: Kernelet) -> None:
    """Rows or columns of a tile to one value each."""
    rng = work.rng
    candidates = work.of_kind("mn")
    if not candidates:
        return
    src = rng.choice(candidates)
    dim = rng.choice((0, 1))
    dt = src.buffer.dtype
    count = work.tile[dim]
    kinds = (
        ("sum", "max", "min", "absmax", "abssum")
        if dt.is_float
        else ("sum", "max", "min", "and", "or", "xor")
    )
    kind = rng.choice(("and", "or")) if dt.is_bool else rng.choice(kinds)
    if dt.is_float:
        total = kind in ("sum", "abssum")
        out = rng.choice((types.f32, types.f16, dt)) if total and dt.bits > 8 else dt
        if total and out.bits <= 8:
            return
    else:
        out = rng.choice((types.i32, types.i64)) if kind == "sum" else dt
    tile = work.new_tile(out, "n" if dim == 0 else "m")
    work.emit(
        Reduce(
            kind=kind,
            src=build.whole(src.buffer),
            dst=build.whole(tile.buffer),
            dim=rng.choice((dim, dim - 2)),
        )
    )
    if dt.is_float:
        summed = kind in ("sum", "abssum")
        size, error = _summed(out, count, src.size, src.error) if summed else (src.size, src.error)
        _scaled(work, tile, size, error)
    work.tiles.append(tile)


def accumulate(work: Kernelet) -> None:
    """Reduce into a tile that already holds values, which are combined once."""
    rng = work.rng
    pairs = [
        (s, d)
        for s in work.of_kind("mn")
        for d in work.of_kind("m", "n")
        if s.buffer.dtype is d.buffer.dtype and not s.buffer.dtype.is_bool
    ]
    if not pairs:
        return
    src, dst = rng.choice(pairs)
    dim = 1 if dst.kind == "m" else 0
    kind = rng.choice(("max", "min"))
    work.emit(
        Reduce(
            kind=kind,
            src=build.whole(src.buffer),
            dst=build.whole(dst.buffer),
            dim=dim,
            clear=False,
        )
    )
    dst.size, dst.error = max(src.size, dst.size), max(src.error, dst.error)


def scan_tile(work: Kernelet) -> None:
    """Running sums or maxima of a tile, into another one."""
    rng = work.rng
    candidates = [t for t in work.tiles if not t.buffer.dtype.is_bool and t.buffer.dtype.bits > 8]
    if not candidates:
        return
    src = rng.choice(candidates)
    dim = rng.randrange(len(src.kind))
    kind = rng.choice(("sum", "max"))
    tile = work.new_tile(src.buffer.dtype, src.kind, "shared")
    work.emit(
        Scan(
            kind=kind,
            src=build.whole(src.buffer),
            dst=build.whole(tile.buffer),
            dim=dim,
            reverse=rng.random() < 0.4,
        )
    )
    tile.size, tile.error = src.size, src.error
    if src.buffer.dtype.is_float and kind == "sum":
        count = work.extents(src.kind)[dim]
        _scaled(work, tile, *_summed(src.buffer.dtype, count, src.size, src.error))
    work.tiles.append(tile)


def fill_part(work: Kernelet) -> None:
    """Set a box of a tile to one value."""
    if not work.tiles:
        return
    rng = work.rng
    tile = rng.choice(work.tiles)
    value = expression(rng, tile.buffer.dtype, work.scalars, 1)
    ranges = []
    for extent in work.extents(tile.kind):
        start = rng.randrange(extent)
        ranges.append((start, rng.randint(1, extent - start)))
    work.emit(Fill(dst=build.region(tile.buffer, ranges), value=value.expr))
    tile.holds(value)


def transpose_tile(work: Kernelet) -> None:
    """Transpose a tile, and transpose it back into a new one."""
    candidates = work.of_kind("mn")
    if not candidates:
        return
    src = work.rng.choice(candidates)
    flipped = work.alloc(src.buffer.dtype, work.extents("nm"), "shared")
    tile = work.new_tile(src.buffer.dtype, "mn")
    work.emit(
        Transpose(src=build.whole(src.buffer), dst=build.whole(flipped)),
        Transpose(src=build.whole(flipped), dst=build.whole(tile.buffer)),
    )
    tile.size, tile.error = src.size, src.error
    work.tiles.append(tile)


def move_tile(work: Kernelet) -> None:
    """Copy a tile into a new one of another type or scope."""
    if not work.tiles:
        return
    src = work.rng.choice(work.tiles)
    element = src.at([ZERO] * len(src.kind))
    dt = storable(work, element)
    tile = work.new_tile(dt, src.kind)
    work.emit(Copy(src=build.whole(src.buffer), dst=build.whole(tile.buffer)))
    held = converted(element, dt)
    tile.holds(held if held is not None else element)
    work.tiles.append(tile)


_ACCUMULATORS = {True: types.f32, False: types.i32}


def product(work: Kernelet) -> None:
    """A product of global operands along k in a pipelined loop."""
    rng = work.rng
    operands = [s for s in work.sources if "k" in s.kind]
    if len(operands) != 2 or work.nested:
        return
    a, b = operands
    depth = a.buffer.shape[a.kind.index("k")]
    step = rng.choice((1, 4, 8, 16))
    tile = work.new_tile(_ACCUMULATORS[a.buffer.dtype.is_float], "mn", "fragment")
    k = work.var("k")
    boxes = [
        work.alloc(
            s.buffer.dtype, [step if c == "k" else work.extents(c)[0] for c in s.kind], "shared"
        )
        for s in operands
    ]
    copies = []
    for s, box in zip(operands, boxes, strict=True):
        ranges = [
            (build.mul(k, step), step) if c == "k" else (work.origin[c], work.extents(c)[0])
            for c in s.kind
        ]
        copies.append(Copy(src=build.region(s.buffer, ranges), dst=build.whole(box), clip=True))
    init = rng.random() < 0.3
    gemm = Gemm(
        a=build.whole(boxes[0]),
        b=build.whole(boxes[1]),
        c=build.whole(tile.buffer),
        init=build.eq(k, 0) if init else None,
        transpose_a=a.kind == "km",
        transpose_b=b.kind == "nk",
    )
    zero = build.const(0, tile.buffer.dtype)
    # With `init` alone a loop of no trips would leave the tile undefined; extents are at least 1.
    work.emit(*(() if init else (Fill(dst=build.whole(tile.buffer), value=zero),)))
    work.emit(
        For(
            var=k,
            start=ZERO,
            stop=build.ceildiv(depth, step),
            step=ONE,
            kind=rng.choice(("pipelined", "serial")),
            num_stages=rng.choice((0, 2, 3)),
            body=(*copies, gemm),
        )
    )
    if a.buffer.dtype.is_float:
        longest = 64  # no symbolic dimension is drawn larger
        _scaled(work, tile, *_summed(types.f32, longest, a.size * b.size, 0.0))
    work.tiles.append(tile)


def gram(work: Kernelet) -> None:
    """The product of a tile with its own transpose, summed along rows."""
    candidates = [t for t in work.of_kind("mn") if t.buffer.dtype.is_float]
    if not candidates:
        return
    src = work.rng.choice(candidates)
    if src.buffer.dtype is types.f64:
        return
    rows, count = work.tile
    square = work.alloc(types.f32, (rows, rows), "fragment")
    tile = work.new_tile(types.f32, "m")
    whole = build.whole(src.buffer)
    work.emit(
        Fill(dst=build.whole(square), value=build.const(0.0)),
        Gemm(a=whole, b=whole, c=build.whole(square), transpose_b=True),
        Reduce(kind="sum", src=build.whole(square), dst=build.whole(tile.buffer), dim=1),
    )
    error = 2 * src.size * src.error + src.error**2
    size, error = _summed(types.f32, count, src.size * src.size, error)
    _scaled(work, tile, *_summed(types.f32, rows, size, error))
    if bounded(Value(build.const(0.0), tile.size, tile.error)) is not None:
        work.tiles.append(tile)


def repeat(work: Kernelet) -> None:
    """A serial loop that adds to a tile what depends on the trip."""
    rng = work.rng
    if not work.tiles:
        return
    tile = rng.choice(work.tiles)
    dt = tile.buffer.dtype
    if dt.is_bool or (dt.is_float and dt.bits <= 8):
        return
    trips = rng.randint(1, 4)
    k = work.var("k")
    indices, variables = _variables(work, tile.kind)
    at = tuple(indices.values())
    others = [v for v in leaves(work, indices, tile) if v.expr is not build.load(tile.buffer, at)]
    added = expression(rng, dt, [*others, Value(k)], 2)
    total = build.add(build.load(tile.buffer, at), added.expr)
    size = tile.size + trips * added.size
    error = tile.error + trips * (added.error + dt.eps * size) if dt.is_float else 0.0
    if dt.is_float and bounded(Value(total, min(size, LIMIT), error)) is None:
        return
    store = Store(buffer=tile.buffer.name, indices=at, value=total)
    loop = _loop(work, tile.kind, variables, [store])
    work.emit(For(var=k, start=ZERO, stop=build.const(trips), step=ONE, body=(loop,)))
    _scaled(work, tile, size, error)


def branch(work: Kernelet) -> None:
    """A branch that every thread takes alike, around other steps."""
    rng = work.rng
    if work.nested or not work.tiles:
        return
    before = [(t, t.size, t.error) for t in work.tiles]
    cond = expression(rng, types.bool_, work.scalars, 1)
    with work.block() as then:
        elementwise(work)
    with work.block() as orelse:
        if rng.random() < 0.5:
            fill_part(work)
    work.emit(If(cond=cond.expr, then=tuple(then), orelse=tuple(orelse)))
    for tile, size, error in before:
        tile.size, tile.error = max(tile.size, size), max(tile.error, error)


def flat_view(work: Kernelet) -> None:
    """Change a shared tile through a view of one axis."""
    rng = work.rng
    candidates = [t for t in work.of_kind("mn") if t.buffer.scope == "shared"]
    if not candidates or work.nested:
        return
    tile = rng.choice(candidates)
    count = work.tile[0] * work.tile[1]
    made = Buffer(
        name=work.name("flat"),
        dtype=tile.buffer.dtype,
        shape=(build.const(count),),
        scope="shared",
    )
    i = work.var("i")
    old = Value(build.load(made, [i]), tile.size, tile.error)
    value = expression(rng, made.dtype, [old, Value(i)], 2)
    store = Store(buffer=made.name, indices=(i,), value=value.expr)
    loop = Parallel(vars=(i,), extents=(build.const(count),), body=(store,))
    work.emit(View(buffer=made, source=tile.buffer.name), loop)
    tile.size, tile.error = value.size, value.error


def scalar_variable(work: Kernelet) -> None:
    """A mutable scalar, changed in a loop, that later steps may read."""
    rng = work.rng
    if work.nested:
        return
    dt = rng.choice((types.i32, types.i32, types.f32))
    cell = work.alloc(dt, (), "var")
    k = work.var("k")
    exact = [v for v in work.scalars if v.exact]
    first = expression(rng, dt, exact, 1)
    more = expression(rng, dt, [Value(k), *exact], 1)
    trips = rng.randint(1, 3)
    total = build.add(build.load(cell), more.expr)
    work.emit(
        Store(buffer=cell.name, indices=(), value=first.expr),
        For(
            var=k,
            start=ZERO,
            stop=build.const(trips),
            step=ONE,
            body=(Store(buffer=cell.name, indices=(), value=total),),
        ),
    )
    size = first.size + trips * more.size
    error = first.error + trips * (more.error + types.f32.eps * size) if dt.is_float else 0.0
    read = bounded(Value(build.load(cell), size, error))
    if read is not None:
        work.scalars.append(read)


def count_rows(work: Kernelet) -> None:
    """Integer atomics on a vector of rows: any order gives the same."""
    rng = work.rng
    if work.updated or work.nested:
        return
    dt = rng.choice((types.i32, types.i32, types.u32, types.i64))
    name = f"{work.prefix}count"
    made = Buffer(name=name, dtype=dt, shape=(work.shape[0],), scope="global")
    kind = rng.choice(("m", "mn"))
    indices, variables = _variables(work, kind)
    exact = [v for v in leaves(work, indices, None) if v.exact]
    value = expression(rng, dt, exact, 1)
    row = build.add(work.origin["m"], indices["m"])
    op = rng.choice(("add", "max", "min", "and", "or", "xor"))
    atomic = Atomic(kind=op, buffer=name, indices=(row,), value=value.expr, clip=True)
    work.emit(_loop(work, kind, variables, [atomic]))
    work.updated.append(Result(name, dt, made.shape, "m", 0.0, 0.0, 0.0, is_input=True))


Step = Callable[[Kernelet], None]
_WEIGHTED: dict[Step, int] = {
    elementwise: 8,
    reduce_tile: 3,
    accumulate: 1,
    scan_tile: 1,
    fill_part: 1,
    transpose_tile: 1,
    move_tile: 2,
    product: 2,
    gram: 1,
    repeat: 2,
    branch: 2,
    flat_view: 1,
    scalar_variable: 1,
    count_rows: 1,
}
STEPS: tuple[list[Step], list[int]] = (list(_WEIGHTED), list(_WEIGHTED.values()))
"""The steps and how often each is taken."""


def _row_result(work: Kernelet) -> bool:
    # One tile spans whole rows exactly when the width is the constant extent of the columns.
    return isinstance(work.shape[1], type(ONE)) and work.shape[1] is build.const(work.tile[1])


def finish(work: Kernelet, position: int) -> list[Result]:
    """Copy one or two tiles to results, by a copy or by guarded stores."""
    rng = work.rng
    kinds = ("mn", "m") if _row_result(work) else ("mn",)
    while not work.of_kind("mn"):
        elementwise(work)
    found = work.of_kind(*kinds)
    chosen = rng.sample(found, min(len(found), rng.randint(1, 2)))
    results = list(work.updated)
    for number, tile in enumerate(chosen):
        results.append(_write_back(work, tile, f"O{position}{number}"))
    return results


def _write_back(work: Kernelet, tile: Tile, name: str) -> Result:
    rng = work.rng
    element = tile.at([ZERO] * len(tile.kind))
    dt = storable(work, element) if rng.random() < 0.5 else tile.buffer.dtype
    held = converted(element, dt) or element
    shape = work.shape[: len(tile.kind)]
    out = Buffer(name=name, dtype=dt, shape=shape, scope="global")
    target = Source(out, tile.kind, held.size, held.error)
    if rng.random() < 0.6:
        work.emit(Copy(src=build.whole(tile.buffer), dst=work.region(target), clip=True))
    else:
        work.emit(_guarded_store(work, tile, target))
    tolerance = 4 * held.error
    return Result(name, dt, shape, tile.kind, held.size, held.error, tolerance)


def _guarded_store(work: Kernelet, tile: Tile, target: Source) -> Parallel:
    indices, variables = _variables(work, tile.kind)
    value = build.cast(build.load(tile.buffer, list(indices.values())), target.buffer.dtype)
    at = [build.add(work.origin[c], indices[c]) for c in tile.kind]
    clip = work.rng.random() < 0.5
    store: Stmt = Store(buffer=target.buffer.name, indices=tuple(at), value=value, clip=clip)
    if not clip:
        inside = build.const(True)
        for e, extent in zip(at, target.buffer.shape, strict=True):
            inside = build.land(inside, build.lt(e, extent))
        store = If(cond=inside, then=(store,))
    return _loop(work, tile.kind, variables, [store])
