"""What an emulator asks of any target: the memory that a function's arguments point to, which of
the user's lines a line of emitted source belongs to, and how kernels in C++ are entered."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.emulation import EmulatedKernel
from tile_ir.expr import Const, Expr
from tile_ir.opdef import Access
from tile_ir.ops import Kernel, View
from tile_ir.rewrite import all_effects, walk
from tile_ir.types import i64
from tile_passes.emit.addresses import element_strides
from tile_passes.emit.identifiers import identifiers
from tile_passes.emit.python_exprs import PythonNames, python_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body

__all__ = [
    "emulated_kernel",
    "entry_text",
    "line_places",
    "regions_text",
    "user_files",
    "user_places",
]

_MARK = re.compile(r"//\s*(\S+):(\d+)")
SLOT = 8
"""Bytes between the parameters of a kernel: no type has more."""


def regions_text(fn: Function) -> str:
    """Python text of `regions(*arguments)`: name, address, bytes of each buffer, whether it is
    written, and what more there is to say of it: "result" (the call made it), "early" (the first
    kernel reads it before the kernel in front of it has ended), "late" (the last kernel writes it).
    Arguments are those of the function's host part."""
    buffers = [p.buffer for p in fn.params if p.buffer is not None]
    names = PythonNames(identifiers(fn, [x.name for x in buffers], frozenset()))
    written, kernels = _written(fn.body), [s for s in walk(fn.body) if isinstance(s, Kernel)]
    words = {
        "result": frozenset(fn.results),
        "early": frozenset(n for k in kernels[:1] if k.dependent for n in k.unwritten),
        "late": frozenset(n for k in kernels[-1:] for n in _written(k.body)),
    }
    rows = [
        f"({x.name!r}, {names[x.name]}, {_bytes_text(x, names)}, {x.name in written}, "
        f"{tuple(word for word, those in words.items() if x.name in those)})"
        for x in buffers
    ]
    arguments = [names[p.name] for p in fn.params] + [names[d.name] for d in fn.dims]
    return f"def regions({', '.join(arguments)}):\n    return [{', '.join(rows)}]\n"


def _written(body: Body) -> frozenset[str]:
    homes = {s.buffer.name: s.source for s in walk(body) if isinstance(s, View)}
    found = set()
    for effect in all_effects(body):
        if effect.access & (Access.WRITE | Access.UPDATE):
            name = effect.buffer
            while name in homes:
                name = homes[name]
            found.add(name)
    return frozenset(found)


def _bytes_text(buffer: Buffer, names: PythonNames) -> str:
    """Up to the last element, whatever the strides; nothing where an extent is zero."""
    last: Expr = Const(1, i64)
    for extent, stride in zip(buffer.shape, element_strides(buffer), strict=True):
        reach = b.mul(b.sub(b.cast(extent, i64), Const(1, i64)), b.cast(stride, i64))
        last = b.add(last, reach)
    size = b.ceildiv(b.mul(last, buffer.dtype.storage_bits), 8)
    extents = ", ".join(python_text(e, names) for e in buffer.shape)
    text = python_text(size, names)
    return f"({text}) if min(({extents},), default=1) > 0 else 0" if extents else text


def user_files(fn: Function) -> dict[str, str]:
    """The last part of the name of each file that a function comes from -> the whole name."""
    spans = (s.span for s in walk(fn.body) if s.span is not None)
    return {PurePath(span.file).name: span.file for span in spans}


def user_places(source: str, files: Mapping[str, str]) -> list[str]:
    """The user's place ("file:line") of each line of emitted source, by the comment at or above it;
    "" where there is none. `files` are whole names of files, of which comments have the last part.
    """
    places: list[str] = []
    for line in source.split("\n"):
        mark = _MARK.search(line)
        if mark:
            file, number = mark.groups()
            places.append(f"{files.get(file, file)}:{number}")
        else:
            places.append(places[-1] if places else "")
    return places


def line_places(source: str, fn: Function | None) -> dict[int, tuple[str, int, str, str]]:
    """The places of emitted source that is compiled as it is: a position is a line, see
    `tile_ir.emulation.EmulationSource`."""
    users = user_places(source, user_files(fn) if fn else {})
    lines = enumerate(source.split("\n"), 1)
    return {n: ("", n, text.strip(), users[n - 1]) for n, text in lines if text}


def emulated_kernel(name: str, parameters: int) -> EmulatedKernel:
    """A kernel whose entry is that of `entry_text`."""
    slots = tuple((SLOT * i, SLOT) for i in range(parameters))
    return EmulatedKernel(name=name, entry=f"kernel_{name}", parameters=slots)


def entry_text(name: str, types: Sequence[str], more: str = "") -> str:
    """C++ text of what an emulator calls for the kernel `emitted::name`, whose parameters have
    these types; `more` are arguments behind them."""
    values = [f"*({kind} *)(parameters + {SLOT * i})" for i, kind in enumerate(types)]
    given = ", ".join([*values, *([more] if more else [])])
    return (
        f'extern "C" __attribute__((visibility("default"))) EMU_UNSEEN void kernel_{name}'
        f"(struct emu_thread *t, char *parameters) {{ emu_native_enter(t, EMU_IMAGE); "
        f"emitted::{name}({given}); emu_native_leave(); }}"
    )
