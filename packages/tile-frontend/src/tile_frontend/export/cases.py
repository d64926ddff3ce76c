"""Stored inputs and outputs with which an exported library checks itself.

What a case holds is linear memory: of a large tensor a piece that is repeated, and every n-th
element of what comes out. Outputs are computed by the oracle, or, where that would take long, by
the kernel on the host.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_frontend.adapters.base import row_major
from tile_frontend.bind import Binder, stored_extents
from tile_frontend.dims import Equation, evaluate, solve
from tile_frontend.export.parameters import kinds_of
from tile_frontend.supplies import fetched
from tile_frontend.target_select import select
from tile_frontend.trace.element_types import numpy_dtype
from tile_ir.diag import TileError
from tile_ir.expr import free_vars
from tile_ir.interp import run
from tile_ir.interp.bind import written
from tile_ir.numerics.scalar import convert
from tile_ir.types import f64

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_frontend.kernel import JITKernel
    from tile_ir.core import Buffer, Function
    from tile_ir.types import DType

__all__ = ["Case", "Stored", "case_text", "cases_of"]

PERIOD = 4093
"""Elements stored of a tensor's memory at most: a prime, so that rows differ."""
SAMPLES = 4096
ORACLE_ELEMENTS = 1 << 15
TOLERANCES = {"f64": 1e-9, "f32": 1e-4, "tf32": 1e-3, "f16": 1e-2, "bf16": 2e-2}
"""Relative to the largest element of an output, for sums in another order; the others are compared
by code or bit by bit."""
FORMS = {"f16": "TILE_F16", "bf16": "TILE_BF16", "f32": "TILE_F32", "tf32": "TILE_F32",
         "f64": "TILE_F64"}  # fmt: skip
RAGGED, EVEN = (37, 41, 43, 47), (128, 64, 192, 256)
"""Dimensions of automatic cases: one that no tile divides, one that most do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One tensor of a case: extents and strides as the library takes them, `span` elements of
    memory, the stored ones of them before and after, the latter `step` apart (none: not
    compared)."""

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    span: int
    before: np.ndarray[Any, Any]
    after: np.ndarray[Any, Any] | None = None
    step: int = 1
    absolute: float = 0.0
    relative: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Arguments and what they become: tensors in order, scalars by their place."""

    tensors: tuple[Stored, ...]
    scalars: Mapping[int, tuple[DType, Any]]


def cases_of(kernel: JITKernel, given: Any, tolerance: float | None) -> list[Case]:
    """The cases of one kernel: from inputs (a sequence of argument lists), or made up (None).

    Raises `TileError` E2403 where the program refuses them or nothing computes the outputs; for
    given inputs also what a call raises.
    """
    fn = kernel.function
    if given is not None:
        return [_case(kernel, _given(kernel, list(args)), tolerance) for args in given]
    choices = [EVEN, RAGGED] if fn.dims else [()]
    found: list[Case] = []
    refusal: TileError | None = None
    for choice in choices:
        try:
            found.append(_case(kernel, _made_up(fn, choice), tolerance))
        except TileError as error:
            refusal = error
    if not found and refusal is not None:
        raise TileError(
            "E2403",
            f"{fn.name} refuses the inputs made up for its self-check",
            notes=(f"{refusal.code}: {refusal.message}", *refusal.notes),
            help="pass some with self_check=[(A, B, ...)], as a call takes them, or "
            "self_check=False",
        ) from refusal
    return found


Arguments = dict[str, Any]
"""By parameter: a scalar, or linear memory with an array over it."""


def _given(kernel: JITKernel, args: list[Any]) -> Arguments:
    fn = kernel.function
    # Arrays of the host serve a kernel of any device, and any address: the case is a copy.
    Binder(fn, ("cpu", *kernel.target.memory)).prepare(args)
    by_name = dict(zip(kernel.binder.names, args, strict=True))
    types = {p.name: p.buffer.dtype for p in fn.params if p.buffer is not None}
    arrays = {n: np.asarray(fetched(v, types[n])) for n, v in by_name.items() if n in types}
    made = _memory(fn, _dims_of(fn, arrays), zero=True)
    for name, value in by_name.items():
        if name in arrays:
            made[name][1][...] = arrays[name]
        else:
            made[name] = value
    return made


def _dims_of(fn: Function, arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, int]:
    equations = []
    for p in fn.params:
        if p.buffer is None or p.name not in arrays:
            continue
        a = arrays[p.name]
        equations += [
            Equation(e, n, p.name, i)
            for i, (e, n) in enumerate(zip(stored_extents(p.buffer), a.shape, strict=True))
        ]
        steps = [s // a.itemsize for s in a.strides]
        equations += [
            Equation(e, n, p.name, i, is_stride=True)
            for i, (e, n) in enumerate(zip(p.buffer.strides or (), steps, strict=False))
        ]
    return solve(equations)[0]


def _made_up(fn: Function, choice: Sequence[int]) -> Arguments:
    return _memory(fn, _chosen_dims(fn, choice))


def _chosen_dims(fn: Function, choice: Sequence[int]) -> dict[str, int]:
    """Values for the dimensions of extents in turn; those of strides follow from row-major order,
    where they can."""
    known: dict[str, int] = {}
    shapes = [b for p in fn.params if (b := p.buffer) is not None]
    named = {v.name for b in shapes for e in stored_extents(b) for v in free_vars(e)}
    for n, d in enumerate(d for d in fn.dims if d.name in named):
        known[d.name] = choice[n % len(choice)]
    equations = [
        Equation(e, step, b.name, i, is_stride=True)
        for b in shapes
        for i, (e, step) in enumerate(
            zip(b.strides or (), row_major(_extents(b, known)), strict=False)
        )
    ]
    return solve(equations, known)[0]


def _extents(b: Buffer, known: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(evaluate(e, known) for e in stored_extents(b))


def _memory(fn: Function, known: Mapping[str, int], zero: bool = False) -> Arguments:
    """Memory for every tensor, filled with numbers drawn from the type (outputs with zeros), and
    scalars: one, a half, true."""
    rng = np.random.default_rng(20240229)
    made: Arguments = {}
    missing = [d.name for d in fn.dims if d.name not in known]
    if missing:
        raise TileError(
            "E2403",
            f"nothing tells the dimension {missing[0]} of {fn.name}",
            help="pass inputs with self_check=[(A, B, ...)], or self_check=False",
        )
    for p in fn.params:
        if p.scalar is not None:
            t = p.scalar.dtype
            made[p.name] = 0.5 if t.is_float else True if t.is_bool else 1
            continue
        assert p.buffer is not None
        made[p.name] = _tensor(p.buffer, known, None if zero or p.name in fn.results else rng)
    return made


def _tensor(b: Buffer, known: Mapping[str, int], rng: Any) -> tuple[Any, Any]:
    shape = _extents(b, known)
    strides = tuple(evaluate(e, known) for e in b.strides) if b.strides else row_major(shape)
    reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    span = 0 if 0 in shape else 1 + reach
    kind = np.dtype("u1") if b.dtype.storage_bits < 8 else np.dtype(numpy_dtype(b.dtype))
    linear = np.zeros(max(span, 1), kind)
    if rng is not None:
        linear = np.resize(_numbers(rng, b.dtype, kind, min(linear.size, PERIOD)), linear.size)
    steps = [s * kind.itemsize for s in strides]
    return linear, np.ndarray(shape, kind, linear, strides=steps)


def _numbers(rng: Any, t: DType, kind: Any, count: int) -> Any:
    """Floats of [-1, 1), small whole numbers from zero up (they may be indices), packed bytes."""
    if t.storage_bits < 8:
        return rng.integers(0, 256, count, np.uint8)
    if t.is_float:
        return rng.uniform(-1, 1, count).astype(kind)
    return rng.integers(0, 2 if t.is_bool else 3, count).astype(kind)


def _case(kernel: JITKernel, args: Arguments, tolerance: float | None) -> Case:
    fn = kernel.function
    before = {n: a[0].copy() for n, a in args.items() if isinstance(a, tuple)}
    _run(kernel, args)
    changed = {*written(fn), *fn.results}
    tensors = tuple(
        _stored(p.buffer, args[p.name], before[p.name], p.name in changed, tolerance)
        for p in fn.params
        if p.buffer is not None
    )
    scalars = {
        i: (p.scalar.dtype, args[p.name]) for i, p in enumerate(fn.params) if p.scalar is not None
    }
    return Case(tensors=tensors, scalars=scalars)


def _stored(
    b: Buffer, made: tuple[Any, Any], before: Any, changed: bool, tolerance: float | None
) -> Stored:
    linear, view = made
    step = max(1, -(-linear.size // SAMPLES))
    relative = TOLERANCES.get(b.dtype.scalar.name, 0.0) if tolerance is None else tolerance
    absolute = 0.0
    if changed and b.dtype.scalar.name in FORMS:
        numbers = np.abs(linear.astype(np.float64))
        absolute = relative * float(np.max(numbers[np.isfinite(numbers)], initial=0.0))
    return Stored(
        dtype=b.dtype,
        shape=view.shape,
        strides=tuple(s // linear.itemsize for s in view.strides),
        span=linear.size,
        before=_repeated(before),
        after=linear[::step].copy() if changed else None,
        step=step,
        absolute=absolute,
        relative=relative,
    )


def _repeated(memory: Any) -> Any:
    """The piece of which the memory consists, all of it where it is no repetition."""
    piece = memory[:PERIOD]
    return piece if np.resize(piece, memory.size).tobytes() == memory.tobytes() else memory


def _run(kernel: JITKernel, args: Arguments) -> None:
    """What the program makes of the arguments, in their memory."""
    total = sum(a[0].size for a in args.values() if isinstance(a, tuple))
    by_oracle = _oracle_takes(kernel.function)
    if total <= ORACLE_ELEMENTS and by_oracle:
        _run_by_oracle(kernel.function, args)
        return
    try:
        host = _on_host(kernel)
    except TileError as error:  # it may use what only its own device has
        if by_oracle:
            _run_by_oracle(kernel.function, args)
            return
        raise TileError(
            "E2403",
            f"nothing here computes what {kernel.function.name} should give",
            notes=(f"{error.code}: {error.message}",),
            help="leave the self-check out with self_check=False",
        ) from error
    host(*(args[n][1] if isinstance(args[n], tuple) else args[n] for n in host.binder.names))


def _oracle_takes(fn: Function) -> bool:
    """Whether its arrays are as ours: it keeps one element to a place, and lanes as an axis."""
    types = [p.buffer.dtype for p in fn.params if p.buffer is not None]
    return all(t.storage_bits >= 8 and t.lanes == 1 for t in types)


def _run_by_oracle(fn: Function, args: Arguments) -> None:
    given = {n: a[1] if isinstance(a, tuple) else a for n, a in args.items()}
    for name, array in run(fn, given, lines=[]).items():
        args[name][1][...] = array


def _on_host(kernel: JITKernel) -> JITKernel:
    """The same program for the processor of this machine, its outputs passed as arguments: where it
    writes nothing, they keep what the stored case has there."""
    function, host = replace(kernel.function, results=()), select("cpu")
    if kernel.target.stand_in is None and kernel.target.spec == host.spec:
        return type(kernel)(function, kernel.target, kernel.compiled)
    return kernel.build(function, host, None, ())


def case_text(cases: Sequence[Case]) -> str:
    """C text of the data and of the table `tile_cases`."""
    lines: list[str] = []
    rows: list[str] = []
    for n, case in enumerate(cases):
        fields = []
        for i, s in enumerate(case.tensors):
            stem = f"tile_data_{n}_{i}"
            lines.append(_words(f"{stem}_before", s.before))
            if s.after is not None:
                lines.append(_words(f"{stem}_after", s.after))
            fields.append(_row(stem, s))
        slots = [f"[{i}] = {_slot(t, v)}" for i, (t, v) in case.scalars.items()]
        rows.append(f"    {{{{{', '.join(fields) or '{{0}}'}}}, {{{', '.join(slots) or '0'}}}}},")
    if not rows:
        rows = ["    {.args = {0}},"]
    return "\n".join([
        *lines, "static const struct tile_case tile_cases[TILE_CASES ? TILE_CASES : 1] = {",
        *rows, "};", "",
    ])  # fmt: skip


def _row(stem: str, s: Stored) -> str:
    kind = kinds_of(s.dtype)[0]
    extents = ", ".join(map(str, s.shape)) or "0"
    strides = ", ".join(map(str, s.strides)) or "0"
    form = FORMS.get(s.dtype.scalar.name, "TILE_BYTES")
    if s.dtype.is_float and s.dtype.scalar.storage_bits == 8:
        form = "TILE_CODES"
    count = 0 if s.after is None else s.after.size
    after = "NULL" if s.after is None else f"{stem}_after"
    return (
        f"{{{{{extents}}}, {{{strides}}}, {{{kind.code}, {kind.bits}, {kind.lanes}}}, "
        f"{len(s.shape)}, {s.before.itemsize}, {s.span}, {s.before.size}, {count}, {s.step}, "
        f"{stem}_before, {after}, {form}, {s.absolute!r}, {s.relative!r}}}"
    )


def _words(name: str, array: Any) -> str:
    data = array.tobytes()
    data += bytes(-len(data) % 8)
    words = [f"0x{int.from_bytes(data[i : i + 8], 'little'):x}" for i in range(0, len(data), 8)]
    rows = [", ".join(words[i : i + 8]) for i in range(0, len(words), 8)]
    return f"static const uint64_t {name}[] = {{\n  " + ",\n  ".join(rows) + "};"


def _slot(t: DType, value: Any) -> str:
    """The 8 bytes of a scalar, as `parameters.slot_of` makes them at run time."""
    if t.is_float:
        kind = np.float64 if t is f64 else np.float32
        value = convert(float(value), f64, t)
        return f"0x{int.from_bytes(kind(value).tobytes(), 'little'):x}"
    return f"0x{int(value) & (1 << 64) - 1:x}"
