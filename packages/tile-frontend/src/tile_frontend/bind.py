"""Arguments of a launch: checked against the parameters once per combination of types, extents and
strides.

`Binder.prepare` finds what is wrong and names the argument; what it returns launches any arguments
of the same key without looking at them again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

from tile_frontend import argument_errors as wrong
from tile_frontend.adapters import Adapter, ArrayInfo, adapter_for, adapter_on, code_of
from tile_frontend.adapters.base import packed_shape, row_major
from tile_frontend.dims import Equation, evaluate, solve
from tile_frontend.overlaps import Pair, pairs_of, read_again
from tile_frontend.scalars import scalar_taker
from tile_ir.opdef import Access
from tile_ir.ops import View
from tile_ir.rewrite import all_effects, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tile_frontend.adapters import ArrayCode
    from tile_ir.core import Buffer, Function
    from tile_ir.expr import Expr
    from tile_ir.types import DType


UNADDRESSED = frozenset({"mps"})
"""Kinds of memory whose arrays have no address that a host may use: a launch gets the array."""


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument of the entry: `take` gives it from the caller's argument at place `at` (outputs
    behind them).

    `code` is the same for an argument like the one it was made from, None where `take` has no code.
    `alignment`: what an address has to be a multiple of. `scalar`: whether it is a number.
    """

    name: str
    at: int
    take: Callable[[Any], Any]
    code: ArrayCode | None = None
    alignment: int = 1
    scalar: bool = False

    def check(self, args: Sequence[Any]) -> None:
        """Raises `TileError` E2016 for an address that is not aligned."""
        found = self.take(args[self.at])
        if found % self.alignment:
            raise wrong.alignment(self.name, found, self.alignment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A checked combination of arguments: how to make outputs, each argument of the entry, and the
    dimensions, which follow them.

    `count`: how many arguments the caller gives. `pairs`: which of them must not share memory.
    `library`: whose arrays they are. `index`: which
    device of its kind has the arrays, None without arrays. `fits`: whether rows lie as far apart as
    the kernel's copy engines need.
    """

    count: int
    outputs: tuple[Callable[[], Any], ...]
    slots: tuple[Slot, ...]
    pairs: tuple[Pair, ...]
    dims: tuple[int, ...]
    library: str
    index: int | None
    fits: bool


class Binder:
    """The parameters of one function, on a kind of device.

    `alignments`: bytes that the address of each parameter has to be a multiple of; `pitches`: bytes
    that its strides, but for the last, have to be multiples of. Empty where anything will do.
    `whole`: a launch takes the arrays themselves, wherever their memory is.
    """

    def __init__(
        self,
        function: Function,
        memory: tuple[str, ...] = ("cpu",),
        alignments: Sequence[int] = (),
        pitches: Sequence[int] = (),
        whole: bool = False,
    ) -> None:
        self.function = function
        self.whole = whole
        self.memory = memory
        self.alignments = tuple(alignments) or (1,) * len(function.params)
        self.pitches = {
            p.name: pitch for p, pitch in zip(function.params, pitches, strict=False) if pitch > 1
        }
        self.inputs = [p for p in function.params if p.name not in function.results]
        self.names = tuple(p.name for p in self.inputs)

    @cached_property
    def touched(self) -> dict[str, Access]:
        """How the body uses each buffer; one that is absent may be given as None."""
        home = {s.buffer.name: s.source for s in walk(self.function.body) if isinstance(s, View)}
        found: dict[str, Access] = {}
        for effect in all_effects(self.function.body):
            name = effect.buffer
            while name in home:
                name = home[name]
            found[name] = found.get(name, Access(0)) | effect.access
        return found

    def prepare(self, args: Sequence[Any]) -> Prepared:
        """Check the arguments.

        Raises `TileError` E2001 to E2012, each naming the argument. What depends on addresses is
        left to the call.
        """
        if len(args) != len(self.inputs):
            raise wrong.count(self.function.name, self.names, len(args))
        infos = {
            p.name: self._array(p.buffer, arg)
            for p, arg in zip(self.inputs, args, strict=True)
            if p.buffer is not None
        }
        index = _common_index(infos)
        known = self._dimensions(infos)
        for param in self.inputs:
            info = infos.get(param.name)
            if param.buffer is not None and info is not None:
                self._check_strides(param.buffer, info, known)
        kind = next((i.device for i in infos.values() if i is not None), self.memory[0])
        on = kind if index is None or kind == "cpu" else f"{kind}:{index}"
        made = self._prepared(args, known, (index, on), self._rows_fit(infos, known))
        return replace(made, pairs=self._pairs(infos, on))

    def _pairs(self, infos: dict[str, ArrayInfo | None], on: str) -> tuple[Pair, ...]:
        """What must not share memory, where arrays have addresses."""
        if self.whole or on.partition(":")[0] in UNADDRESSED:
            return ()
        writes = Access.WRITE | Access.UPDATE
        written = {n for n, access in self.touched.items() if access & writes}
        places = {p.name: i for i, p in enumerate(self.function.params)}
        return pairs_of(infos, places, written, read_again(self.function))

    def results(self, given: Mapping[str, Any]) -> list[tuple[tuple[int, ...], DType]]:
        """Extents and type of each output for these arguments by name, which are checked; extents
        may be symbols of another tracer."""
        infos = {
            p.name: self._array(p.buffer, given[p.name])
            for p in self.inputs
            if p.buffer is not None
        }
        known = self._dimensions(infos)
        made = [p.buffer for p in self.function.params if p.name in self.function.results]
        by_name = {b.name: b for b in made if b is not None}
        ordered = [by_name[n] for n in self.function.results]
        shapes = [tuple(evaluate(e, known) for e in b.shape) for b in ordered]
        return [
            (packed_shape(shape, b.dtype), b.dtype)
            for shape, b in zip(shapes, ordered, strict=True)
        ]

    def _rows_fit(self, infos: dict[str, ArrayInfo | None], known: dict[str, int]) -> bool:
        for param in self.function.params:
            buffer, info = param.buffer, infos.get(param.name)
            pitch = self.pitches.get(param.name)
            if buffer is None or pitch is None:
                continue
            strides = row_major(tuple(evaluate(e, known) for e in buffer.shape))
            if buffer.strides is not None and info is not None and info.strides is not None:
                strides = info.strides
            if any(stride * buffer.dtype.storage_bits % (8 * pitch) for stride in strides[:-1]):
                return False
        return True

    def _array(self, buffer: Buffer, arg: Any) -> ArrayInfo | None:
        use = self.touched.get(buffer.name, Access(0))
        if arg is None:
            if use:
                raise wrong.missing(buffer.name)
            return None
        info = inspected(buffer.name, arg)
        if info.device not in self.memory:
            raise wrong.device(buffer.name, info.device, self.memory[0])
        _check_type(buffer, info)
        if len(info.shape) != len(buffer.shape):
            raise wrong.rank(buffer, info)
        if use & (Access.WRITE | Access.UPDATE):
            if not info.writable:
                raise wrong.read_only(buffer.name)
            if buffer.strides is not None and _overlaps(info):
                raise wrong.overlapping(buffer, info)
        return info

    def _dimensions(self, infos: dict[str, ArrayInfo | None]) -> dict[str, int]:
        equations = [e for p in self.inputs for e in equations_of(p.buffer, infos.get(p.name))]
        known, impossible = solve(equations)
        if impossible is not None:
            raise wrong.unsolvable(impossible)
        unknown = [d.name for d in self.function.dims if d.name not in known]
        if unknown:
            raise wrong.undetermined(unknown)
        for equation in equations:
            expected = evaluate(equation.expr, known)
            if expected != equation.value:
                raise wrong.extent(equation, expected, known, equations)
        return known

    def _check_strides(self, buffer: Buffer, info: ArrayInfo, known: dict[str, int]) -> None:
        if 0 in info.shape or (buffer.strides is not None and info.strides is not None):
            return
        wanted = row_major(info.shape)
        if info.strides is None or any(
            extent > 1 and stride != want
            for extent, stride, want in zip(info.shape, info.strides, wanted, strict=True)
        ):
            raise wrong.strides(buffer, info, wanted)

    def _prepared(
        self,
        args: Sequence[Any],
        known: dict[str, int],
        where: tuple[int | None, str],
        fits: bool,
    ) -> Prepared:
        index, on = where
        place = {name: i for i, name in enumerate((*self.names, *self.function.results))}
        first = next((a for a in args if adapter_for(a) is not None), None)
        library = adapter_for(first)
        maker = library or adapter_on(on)
        buffers = {p.name: p.buffer for p in self.function.params}
        outputs = tuple(_maker(maker, buffers[n], known, on) for n in self.function.results)
        slots: list[Slot] = []
        for param, alignment in zip(self.function.params, self.alignments, strict=True):
            at, name = place[param.name], param.name
            if param.scalar is not None:
                take = scalar_taker(name, param.scalar.dtype)
                slots.append(Slot(name, at, take, scalar=True))
            elif at < len(args) and args[at] is None:
                slots.append(Slot(name, at, _null))
            elif self.whole or on.partition(":")[0] in UNADDRESSED:
                slots.append(Slot(name, at, partial(_whole, name, alignment)))
            else:
                adapter = (adapter_for(args[at]) if at < len(args) else None) or maker
                code = code_of(args[at] if at < len(args) else first)
                slots.append(Slot(name, at, adapter.address, code, alignment))
        return Prepared(
            count=len(args),
            outputs=outputs,
            slots=tuple(slots),
            pairs=(),
            dims=tuple(known[d.name] for d in self.function.dims),
            library=maker.library,
            index=index,
            fits=fits,
        )


def _overlaps(info: ArrayInfo) -> bool:
    """Whether there are more elements than places from the first to the last, as in what was made
    by repeating an axis, or by a window that slides."""
    if info.strides is None or 0 in info.shape:
        return False
    steps = zip(info.shape, info.strides, strict=True)
    return prod(info.shape) > 1 + sum((n - 1) * abs(stride) for n, stride in steps)


def inspected(name: str, arg: Any) -> ArrayInfo:
    """Everything about an argument but its data. Raises `TileError` E2009 for what is no array or
    has no memory that a kernel could read."""
    adapter = adapter_for(arg)
    if adapter is None:
        raise wrong.no_array(name, arg)
    obstacle = getattr(adapter, "obstacle", None)
    why = "" if obstacle is None else obstacle(arg)
    if why:
        raise wrong.unreadable(name, why)
    return adapter.inspect(arg)


def _common_index(infos: dict[str, ArrayInfo | None]) -> int | None:
    """Which device of its kind has all the arrays."""
    found = None
    for name, info in infos.items():
        if info is not None:
            found = info.index if found is None else found
            if info.index != found:
                raise wrong.devices(name, info.index, found)
    return found


def _check_type(buffer: Buffer, info: ArrayInfo) -> None:
    declared, given = buffer.dtype, info.dtype
    a_byte = given.is_int and given.storage_bits == 8
    if declared.storage_bits < 8:
        # Arrays of such types keep one element in a byte, except those of several lanes.
        if not a_byte and not (given.scalar is declared and given.storage_bits == 8):
            raise wrong.unpacked(buffer, given)
        return
    as_bool = declared.is_bool and a_byte
    as_code = declared.is_float and declared.bits <= 8 and a_byte and not given.is_signed
    if not (given is declared or as_bool or as_code):
        raise wrong.dtype(buffer, given)


def equations_of(buffer: Buffer | None, info: ArrayInfo | None) -> list[Equation]:
    """What an argument says of the dimensions in its parameter's extents and strides."""
    if buffer is None or info is None:
        return []
    found = []
    for axis, (declared, value) in enumerate(zip(stored_extents(buffer), info.shape, strict=True)):
        found.append(Equation(declared, value, buffer.name, axis))
    for axis, declared in enumerate(buffer.strides or ()):
        if info.strides is not None and info.shape[axis] > 1:
            stride = info.strides[axis]
            found.append(Equation(declared, stride, buffer.name, axis, is_stride=True))
    return found


def stored_extents(buffer: Buffer) -> tuple[Expr, ...]:
    """The declared extents, the last one in bytes where several elements share one."""
    from tile_ir import build  # only packed types need arithmetic on extents

    if buffer.dtype.storage_bits >= 8:
        return buffer.shape
    per_byte = 8 // buffer.dtype.storage_bits
    return (*buffer.shape[:-1], build.ceildiv(buffer.shape[-1], per_byte))


def _maker(
    adapter: Adapter, buffer: Buffer | None, known: dict[str, int], device: str
) -> Callable[[], Any]:
    assert buffer is not None
    shape = tuple(evaluate(e, known) for e in buffer.shape)
    dtype = buffer.dtype
    return adapter.maker(shape, dtype, device)


def _whole(name: str, alignment: int, array: Any) -> Any:
    """The array itself, which begins where its memory does or a multiple of `alignment` bytes
    behind it. Raises `TileError` E2016 where it does not."""
    if not hasattr(array, "storage_offset"):  # memory of the host, which is moved as it is
        return array
    offset = array.storage_offset() * array.element_size()
    if offset % alignment:
        raise wrong.alignment(name, offset, alignment)
    return array


def _null(absent: None) -> int:
    return 0
