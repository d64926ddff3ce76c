"""A function's host part for one set of dimensions, as the few steps that are left for each call.

The host part is run once with stand-ins for addresses and scalars. What it asks for is written
down: workspaces, tensor maps, launches with their grids. A call then replays that list: it packs
what differs from call to call and asks the driver. A stand-in refuses to be computed with, so a
host part whose sizes or branches depend on scalars is not recorded and runs as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from tile_cuda import device as devices
from tile_cuda.dependent_launch import launch_dependent
from tile_cuda.device import driver
from tile_cuda.launch import MAX_BLOCKS, launch_refused, layout_of, thread_arguments, too_many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from tile_cuda.launch import Entry
    from tile_cuda.runtime import Host

__all__ = ["Replay", "record"]


class _Computed(Exception):
    """A stand-in was computed with."""


def _refuse(*_: object) -> NoReturn:
    raise _Computed


class _StandIn:
    """A value that is known at each call only; `text` is its name there."""

    def __init__(self, text: str) -> None:
        self.text = text

    __bool__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __index__ = __int__ = __float__ = __neg__ = __invert__ = __abs__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
    __hash__ = None  # type: ignore[assignment]


@dataclass(slots=True)
class _Recorder:
    """Stands in for the device while the host part is run: `rt` of the generated text."""

    host: Host
    names: dict[str, Any]
    """What the replay's text refers to."""
    lines: list[str] = field(default_factory=list)

    def kernel(
        self, name: str, formats: str, threads: int, shared: int, dependent: bool = False
    ) -> Callable[..., None]:
        """What writes down a launch."""
        entry = self.host.entry(name, formats, threads, shared, dependent)
        return lambda blocks, *values: self._launch(entry, blocks, values)

    def tensor_map(
        self, name: str, bits: int, box: tuple[int, ...], row_bytes: int, kind: str = ""
    ) -> Callable[[_StandIn | int, tuple[int, ...], tuple[int, ...]], _StandIn | bytes]:
        """What writes down a tensor map of fixed extents and strides, whatever the address."""
        maps = self.host.tensor_map(name, bits, box, row_bytes, kind)

        def made(
            address: _StandIn | int, extents: tuple[int, ...], strides: tuple[int, ...]
        ) -> _StandIn | bytes:
            if isinstance(address, int):
                return maps(address, extents, strides)
            known = self._named("maps", maps.of_shape(extents, strides))
            return _StandIn(f"{known}[{address.text}]")

        return made

    def allocate(self, size: int) -> tuple[object, _StandIn]:
        """A workspace, made anew at each call and kept until its launches are queued."""
        name = f"workspace_{len(self.lines)}"
        known = self._named("size", int(size))
        self.lines.append(f"{name}_memory, {name} = allocate({known})")
        return None, _StandIn(name)

    def kept(self, name: str, size: int) -> Callable[[], _StandIn]:
        """What writes down that a launch needs memory of its stream."""
        known = self._named("kept", self.host.kept_memory(name, size).at)

        def found() -> _StandIn:
            text = f"{known}_address"
            self.lines.append(f"{text} = {known}(stream(device))")
            return _StandIn(text)

        return found

    def workers(self) -> int:
        """Blocks that run at once."""
        return self.host.workers()

    def failed(self, message: str) -> None:
        """An assertion about the dimensions does not hold."""
        self.host.failed(message)

    def _named(self, kind: str, value: Any) -> str:
        name = f"{kind}_{len(self.names)}"
        self.names[name] = value
        return name

    def _launch(self, entry: Entry, blocks: int, values: tuple[Any, ...]) -> None:
        if blocks > MAX_BLOCKS:
            raise too_many(blocks)
        fixed = {i: v for i, v in enumerate(values) if not isinstance(v, _StandIn)}
        layout = layout_of(entry.formats, fixed)
        arguments = self._named("arguments", thread_arguments(layout))
        pack = self._named("pack", layout.packer.pack_into)
        texts = "".join(f", {v.text}" for v in values if isinstance(v, _StandIn))
        self.lines.append(f"memory, pointers = {arguments}.block")
        if texts:
            self.lines.append(f"{pack}(memory, 0{texts})")
        function, grid = self._named("function", entry.function), self._named("grid", blocks)
        if entry.dependent:
            self.lines.append(
                f"launch_dependent({function}, {grid}, {entry.threads}, {entry.shared}, "
                f"stream(device), pointers)"
            )
            return
        self.lines.append(
            f"launch({function}, {grid}, 1, 1, {entry.threads}, 1, 1, {entry.shared}, "
            f"stream(device), pointers, 0)"
        )


def record(
    bind: Callable[[Any], Callable[..., None]],
    host: Host,
    count: int,
    dims: Sequence[int],
    stream: Callable[[int], int],
    fixed: Sequence[float] | None = None,
) -> Replay | None:
    """A function of the `count` addresses and scalars of the parameters, for these dimensions;
    where they are `fixed`, a function of nothing.

    The device is made current for as long as the launches take, where there are several. None
    where the host part computes with scalars.
    """
    api = driver()
    names = {
        "launch": api.launchKernel,
        "launch_dependent": launch_dependent,
        "stream": stream,
        "device": host.device,
        "allocate": host.allocate,
        "Refused": api.CUDADriverError,
        "refused": launch_refused,
    }
    recorder = _Recorder(host, names)
    slots = [f"p{i}" for i in range(count)] if fixed is None else []
    try:
        bind(recorder)(*map(_StandIn, slots), *(fixed or ()), *dims)
    except _Computed:
        return None
    lines = [
        "try:",
        *(f"    {line}" for line in recorder.lines or ["pass"]),
        "except Refused as error:",
        "    raise refused(error) from error",
    ]
    if devices.count() > 1:
        lines = _elsewhere(lines)
        names.update(current=devices.current_device, make_current=devices.make_current)
    again = partial(record, bind, host, count, dims, stream)
    return Replay(tuple(slots), tuple(lines), names, again)


def _elsewhere(lines: Sequence[str]) -> list[str]:
    """The same with the host's device current, whichever was before."""
    return [
        "before = current()",
        "if before != device:",
        "    make_current(device)",
        *lines,
        "finally:",
        "    if before != device:",
        "        make_current(before)",
    ]


class Replay:
    """The steps of a call as code in terms of p0, p1, ... (addresses and scalars), and what its
    other names stand for; also a function of them."""

    def __init__(
        self,
        slots: tuple[str, ...],
        lines: tuple[str, ...],
        names: dict[str, Any],
        again: Callable[[Sequence[float]], Replay | None],
    ) -> None:
        self.slots, self.lines, self.names, self._again = slots, lines, names, again

    def fixed(self, values: Sequence[float]) -> Replay:
        """The same for addresses and scalars that stay as they are: they are packed once in each
        thread, and a call is left with what it asks the driver for."""
        made = self._again(values)
        assert made is not None  # nothing is computed with where nothing stands in
        return made

    @cached_property
    def _call(self) -> Callable[..., None]:
        text = [
            f"def made({', '.join(self.names)}):",
            f"    def call({', '.join(self.slots)}):",
            *(f"        {line}" for line in self.lines),
            "    return call",
        ]
        made: Callable[..., None] = _factory("\n".join(text))(**self.names)
        return made

    def __call__(self, *values: float) -> None:
        """Launch. Raises TileError E3009 where the driver refuses."""
        self._call(*values)


@cache
def _factory(text: str) -> Callable[..., Any]:
    """The function `made` that a text defines; other sizes of a function give equal texts."""
    namespace: dict[str, Any] = {}
    exec(text, namespace)  # our own text, of the lines above
    made: Callable[..., Any] = namespace["made"]
    return made
