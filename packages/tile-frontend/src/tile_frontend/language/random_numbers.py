"""Random numbers by Philox4x32-10, written as integer arithmetic: the same bits on every target.

A number is a function of where it is drawn, not of what was drawn before: J. K. Salmon, M. A.
Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Number n of
a stream is word n % 4 of the block with

    key     = (seed mod 2^32, seed div 2^32)
    counter = (n div 4, iteration, seq mod 2^32, seq div 2^32)

where `iteration` is the row-major number of the iteration of T.Parallel that draws, 0 outside. So
outside T.Parallel the numbers are those of cuRAND's generator of the same name for the same seed,
subsequence and offset (up to 2^34 of them).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tile_frontend.trace import state
from tile_frontend.trace.loops import CountedLoop, ParallelLoop
from tile_frontend.trace.values import Value, expr_of
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.ops import Let, Store
from tile_ir.types import f32, f64, i64, u32, u64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_frontend.trace.builder import Builder, Scope
    from tile_ir.expr import Expr

__all__ = ["rng_init", "rng_rand", "rng_rand_float"]

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_GENERATOR = "curandStatePhilox4_32_10_t"


@dataclass(frozen=True, eq=False)
class _Stream:
    """An open stream: the key and the high words of its counters, and how far it has been drawn."""

    key: tuple[Expr, Expr]
    seq: tuple[Expr, Expr]
    drawn: Buffer
    scope: Scope


def philox4x32(counter: Sequence[Any], key: Sequence[Any]) -> tuple[Value, ...]:
    """The four words of a block, from four words of counter and two of key, all uint32.

    Raises `TileError` E1003 outside a kernel.
    """
    b = state.builder("philox4x32")
    words = [_word(b, expr_of(c)) for c in counter]
    keys = [expr_of(k) for k in key]
    for step in range(_ROUNDS):
        products = [
            b.let("product", build.mul(build.cast(words[2 * n], u64), build.const(factor, u64)))
            for n, factor in enumerate(_MULTIPLIERS)
        ]
        high = [build.cast(build.shr(p.expr, build.const(32, u64)), u32) for p in products]
        low = [build.cast(p.expr, u32) for p in products]
        turned = [
            build.add(k, build.const(step * by % (1 << 32), u32))
            for k, by in zip(keys, _KEY_STEPS, strict=True)
        ]
        mixed = [
            build.bit_xor(build.bit_xor(high[1 - n], words[2 * n + 1]), turned[n]) for n in (0, 1)
        ]
        words = [_word(b, w) for w in (mixed[0], low[1], mixed[1], low[0])]
    return tuple(Value(w) for w in words)


def _word(b: Builder, e: Expr) -> Expr:
    return b.let("word", build.cast(e, u32)).expr


def _halves(b: Builder, x: Any) -> tuple[Expr, Expr]:
    """The low and the high word of an integer."""
    whole = build.cast(expr_of(x), u64)
    return _word(b, whole), _word(b, build.shr(whole, build.const(32, u64)))


def rng_init(seed: Any, seq: Any = None, off: Any = 0, generator: str = _GENERATOR) -> None:
    """Open a stream of random numbers: stream `seq` of a seed, from its number `off` on.

    Args:
        seed, seq, off: integers, known or not; `seq` is the number of the block when left out. The
            iterations of T.Parallel draw from streams of their own.
        generator: Philox is what there is; its name in other libraries is accepted.

    Raises `TileError` E1503 for another generator, E1302 outside a kernel.
    Example: `T.rng_init(42, 0, 0)`
    """
    b = state.builder("T.rng_init")
    b.need_kernel("T.rng_init")
    if generator not in (_GENERATOR, "philox"):
        raise TileError(
            "E1503",
            f"T.rng_init has generator={generator!r}",
            notes=("numbers are the same on every target, by Philox4x32-10",),
            help="leave it out",
        )
    kernel = b.inside("kernel")
    assert kernel is not None  # need_kernel refused it
    first = b.let("drawn", build.cast(expr_of(off), u64))
    drawn = Buffer(name=b.fresh("drawn"), dtype=u64, shape=(), scope="var", span=b.span)
    b.alloc(drawn)
    b.store(drawn, (), first)
    stream = Value(_block(kernel)) if seq is None else seq
    kernel.facts["random"] = _Stream(_halves(b, seed), _halves(b, stream), drawn, b.scope)


def _block(kernel: Scope) -> Expr:
    """The row-major number of the block, the last axis the slowest."""
    number: Expr = build.const(0, i64)
    for var, extent in reversed(
        list(zip(kernel.facts["vars"], kernel.facts["extents"], strict=True))
    ):
        number = build.add(build.mul(number, build.cast(extent, i64)), build.cast(var, i64))
    return number


def _stream(b: Builder, what: str) -> _Stream:
    kernel = b.inside("kernel")
    found: _Stream | None = None if kernel is None else kernel.facts.get("random")
    if found is None or found.scope not in b.scopes:
        raise TileError(
            "E1419",
            f"{what} draws from no stream",
            notes=("a stream belongs to the kernel, branch or loop in which it was opened",),
            help="call T.rng_init(seed, seq, off) before, in the same block or one around it",
        )
    return found


def _place(b: Builder, stream: _Stream, what: str) -> tuple[Expr, Expr]:
    """Which number of the stream is drawn, and by which iteration; the stream moves on."""
    at = next((n for n, s in enumerate(b.scopes) if s.kind == "parallel"), len(b.scopes))
    number, iteration = build.const(0, u64), build.const(0, u32)
    counts = [1]
    for scope in b.scopes[at:]:
        loop = scope.facts.get("loop")
        if isinstance(loop, ParallelLoop):
            for var, extent in zip(loop.variables, loop.extents, strict=True):
                iteration = build.add(
                    build.mul(iteration, build.cast(extent, u32)), build.cast(var, u32)
                )
        elif scope.loops:
            done, trips = loop.trip if isinstance(loop, CountedLoop) else (None, None)
            if done is None or trips is None:
                raise TileError(
                    "E1419",
                    f"{what} stands in a loop of unknown length inside T.Parallel",
                    notes=("the next loop would not know which numbers are still to be drawn",),
                    help="give the loop constant bounds, or put it around T.Parallel",
                )
            number = build.add(build.mul(number, build.const(trips, u64)), build.cast(done, u64))
            counts.append(trips)
    # All iterations of T.Parallel draw the same numbers of their streams, so that the block moves
    # on before the loop, once for all of them.
    base = _moved(b, b.scopes[min(at, len(b.scopes)) - 1], stream, prod(counts))
    return build.add(base, number), iteration


def _moved(b: Builder, scope: Scope, stream: _Stream, count: int) -> Expr:
    """The number drawn next at the end of a scope, after which `count` of them are taken."""
    first = b.counter("first", dtype=u64)
    drawn = stream.drawn
    after = build.add(first, build.const(count, u64))
    moves = (
        Let(var=first, value=build.load(drawn), span=b.span),
        Store(buffer=drawn.name, indices=(), value=after, span=b.span),
    )
    if scope is b.scope:
        for stmt in moves:
            b.emit(stmt)
    else:
        scope.stmts.extend(moves)
    return first


def _draw(what: str) -> Expr:
    b = state.builder(what)
    if b.inside("kernel") is None:
        b.need_kernel(what)
    stream = _stream(b, what)
    number, iteration = _place(b, stream, what)
    number = b.let("number", number).expr
    block = build.cast(build.shr(number, build.const(2, u64)), u32)
    words = [
        w.expr for w in philox4x32([Value(e) for e in (block, iteration, *stream.seq)], stream.key)
    ]
    which = build.bit_and(build.cast(number, u32), build.const(3, u32))
    made = words[3]
    for n in (2, 1, 0):
        made = build.select(build.eq(which, build.const(n, u32)), words[n], made)
    return b.let("random", made).expr


def rng_rand() -> Value:
    """The next number of the stream: 32 random bits, as uint32.

    Raises `TileError` E1419 where no stream is open, or in a loop of unknown length inside
    T.Parallel.
    Example: `T.rng_init(42); I[0, 0] = T.rng_rand()`
    """
    return Value(_draw("T.rng_rand"))


def rng_rand_float(bit: int = 32, dist: str = "uniform") -> Value:
    """A random float32, or float64 with `bit=64`.

    Args:
        bit: 32 or 64.
        dist: "uniform", in (0, 1], each bit the same on every target; or "normal", with mean 0 and
            deviation 1, which goes through a logarithm and a cosine of the device.

    A uniform float32 takes one number x and is x * 2^-32 + 2^-33; a float64 takes two, x and y, and
    is z * 2^-53 + 2^-54 with z = x ^ (y << 21). A normal one is sqrt(-2 log u) cos(2 pi v) of two
    uniform ones (G. E. P. Box, M. E. Muller, 1958).

    Raises `TileError` E1503 for another width or distribution, E1419 as `T.rng_rand`.
    Example: `T.rng_init(42); x = T.rng_rand_float()`
    """
    if bit not in (32, 64) or dist not in ("uniform", "normal"):
        raise TileError(
            "E1503",
            f"T.rng_rand_float has bit={bit!r}, dist={dist!r}",
            help='bit is 32 or 64, dist "uniform" or "normal"',
        )
    if dist == "uniform":
        return _uniform(bit)
    b = state.builder("T.rng_rand_float")
    u, v = _uniform(bit), _uniform(bit)
    turn, minus_two = (build.const(n, u.expr.dtype) for n in (6.283185307179586, -2.0))
    radius = build.call("sqrt", [build.mul(minus_two, build.call("log", [u.expr]))])
    angle = build.call("cos", [build.mul(v.expr, turn)])
    return b.let("normal", build.mul(radius, angle))


def _uniform(bit: int) -> Value:
    b = state.builder("T.rng_rand_float")
    x = _draw("T.rng_rand_float")
    if bit == 32:
        scaled = build.mul(build.cast(x, f32), build.const(2.0**-32, f32))
        return b.let("uniform", build.add(scaled, build.const(2.0**-33, f32)))
    y = build.shl(build.cast(_draw("T.rng_rand_float"), u64), build.const(21, u64))
    z = build.cast(build.bit_xor(build.cast(x, u64), y), f64)
    scaled = build.mul(z, build.const(2.0**-53, f64))
    return b.let("uniform", build.add(scaled, build.const(2.0**-54, f64)))
