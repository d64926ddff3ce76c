"""Random tile programs: buffers filled from global memory, transformed by every kind of op, and
copied back.

A program is built as one would write it: per kernel a grid of tiles, in each tile some named
buffers that are always wholly defined, a few steps that change them, and copies to the results.
Results of different tiles do not overlap, so the outcome does not depend on any order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tile_ir import build, types
from tile_ir.core import Buffer, Function, Param
from tile_ir.expr import Expr, Var
from tile_ir.ops import Kernel, Tiles
from tile_ir.testing.random.steps import STEPS, finish, load_tile
from tile_ir.testing.random.tiles import Kernelet, Source
from tile_ir.testing.random.values import ALL, LIMIT, STORAGE, Value

__all__ = ["Program", "random_function", "random_program"]

_TILES = (1, 2, 3, 4, 5, 8, 8, 16, 16, 32)


@dataclass(frozen=True, slots=True)
class Program:
    """A random function, and by how much each result of a right implementation may differ from the
    oracle's.
    """

    function: Function
    tolerance: dict[str, float]


@dataclass(slots=True)
class _Draft:
    """The parts of a function while it is being made."""

    rng: random.Random
    dims: list[Var] = field(default_factory=list)
    params: list[Param] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    tolerance: dict[str, float] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    scalars: list[Value] = field(default_factory=list)

    def extent(self, name: str, choices: tuple[int, ...]) -> Expr:
        """A symbolic dimension, or a constant."""
        if self.rng.random() < 0.5:
            return build.const(self.rng.choice(choices))
        dim = Var(name, types.i32)
        self.dims.append(dim)
        return dim

    def buffer(self, name: str, dt: types.DType, shape: tuple[Expr, ...]) -> Buffer:
        """A global parameter."""
        safe = build.const(1, dt) if self.rng.random() < 0.1 and not dt.is_bool else None
        made = Buffer(name=name, dtype=dt, shape=shape, scope="global", safe_value=safe)
        self.params.append(Param(buffer=made))
        return made


def random_function(seed: int, size: int = 6) -> Function:
    """A valid function of stage `tile` with about `size` steps in each kernel. The same seed gives
    the same.
    """
    return random_program(seed, size).function


def random_program(seed: int | random.Random, size: int = 6) -> Program:
    """A function and the tolerances of its results; `seed` may be a source of randomness itself."""
    rng = random.Random(seed) if isinstance(seed, int) else seed
    draft = _Draft(rng)
    m = draft.extent("M", (1, 5, 16, 31))
    # With rows as the only grid axis a tile spans whole rows, and results may be one value a row.
    rows_only = rng.random() < 0.4
    width = rng.choice(_TILES)
    n = build.const(width) if rows_only else draft.extent("N", (1, 7, 16, 40))
    _inputs(draft, m, n)
    body = [
        _kernel(draft, k, (m, n), (rng.choice(_TILES), width), size) for k in range(_kernels(rng))
    ]
    name = f"random_{seed}" if isinstance(seed, int) else "random_program"
    fn = Function(
        name=name,
        params=tuple(draft.params),
        dims=tuple(draft.dims),
        results=tuple(draft.results),
        body=tuple(body),
    )
    return Program(fn, draft.tolerance)


def _kernels(rng: random.Random) -> int:
    return 2 if rng.random() < 0.25 else 1


def _inputs(draft: _Draft, m: Expr, n: Expr) -> None:
    rng = draft.rng
    k = draft.extent("K", (1, 8, 20))
    shapes = {
        "mn": (m, n),
        "m": (m,),
        "n": (n,),
        "mk": (m, k),
        "km": (k, m),
        "kn": (k, n),
        "nk": (n, k),
    }
    kinds = [
        "mn",
        rng.choice(("mn", "m", "n")),
        *rng.choice(((), ("mk", "kn"), ("km", "kn"), ("mk", "nk"))),
    ]
    operand = rng.choice((types.f16, types.bf16, types.f32, types.i8, types.f8e4m3fn))
    for position, kind in enumerate(kinds):
        dt = operand if "k" in kind else rng.choice(ALL if rng.random() < 0.85 else STORAGE)
        made = draft.buffer(f"X{position}", dt, shapes[kind])
        draft.sources.append(Source(made, kind, _size_of(dt), 0.0))
    if rng.random() < 0.4:
        scalar = Var("alpha", rng.choice((types.f32, types.i32)))
        draft.params.append(Param(scalar=scalar))
        draft.scalars.append(Value(scalar, _size_of(scalar.dtype)))


def _size_of(dt: types.DType) -> float:
    return 4.0 if dt.is_float else 0.0


def _kernel(
    draft: _Draft, position: int, shape: tuple[Expr, Expr], tile: tuple[int, int], size: int
) -> Kernel:
    rng = draft.rng
    work = Kernelet(
        rng=rng, shape=shape, tile=tile, prefix=f"k{position}_", scalars=list(draft.scalars)
    )
    grid = tuple(build.ceildiv(e, t) for e, t in zip(shape, tile, strict=True))
    by, bx = Var(f"by{position}", types.i32), Var(f"bx{position}", types.i32)
    work.start(by, bx)
    for _ in range(rng.randint(1, 2)):
        load_tile(work, draft.sources)
    work.sources = draft.sources
    for _ in range(rng.randint(max(1, size // 2), size)):
        rng.choices(*STEPS)[0](work)
    for result in finish(work, position):
        made = draft.buffer(result.name, result.dtype, result.shape)
        draft.tolerance[result.name] = result.tolerance
        if result.is_input:
            continue
        draft.results.append(result.name)
        draft.sources.append(Source(made, result.kind, min(result.size, LIMIT), result.error))
    body = (*work.body,)
    tiles = Tiles(vars=(bx, by), extents=(grid[1], grid[0]), body=body)
    return Kernel(name=f"{work.prefix}kernel", threads=(rng.choice((32, 64, 128)),), body=(tiles,))
