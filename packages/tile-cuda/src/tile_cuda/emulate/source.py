"""An artifact of this target as text for the emulator."""

from __future__ import annotations

import re
from functools import partial
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING

from tile_cuda.emulate.ptx import Instruction, parse
from tile_cuda.emulate.translate import entry_name, translate
from tile_cuda.names import identifiers
from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.toolchain import SOURCE_NAME, options_for
from tile_ir import build as b
from tile_ir.diag import TileError
from tile_ir.emulation import EmulatedKernel, Emulation, EmulationSource
from tile_ir.expr import Const, Expr
from tile_ir.opdef import Access
from tile_ir.ops import View
from tile_ir.rewrite import all_effects, walk
from tile_ir.types import i64
from tile_passes.emit.addresses import element_strides
from tile_passes.emit.python_exprs import PythonNames, python_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_cuda.driver import Artifact
    from tile_cuda.emulate.ptx import Module
    from tile_cuda.nvrtc import Nvrtc
    from tile_ir.core import Buffer, Function
    from tile_ir.target import TargetSpec

__all__ = ["compile_ptx", "emulation", "source_of"]

_MARK = re.compile(r"//\s*(\S+):(\d+)")
LAYER = ("mma.c", "wgmma.c")


def emulation(spec: TargetSpec) -> Emulation:
    """This target's part of the emulator, for one description."""
    return Emulation(
        name="cuda",
        interface=_text("cuda_api.h"),
        layer="\n".join(_text(name) for name in LAYER),
        translate=partial(_translated, spec),
        fingerprint=partial(_fingerprint, spec),
    )


def _text(name: str) -> str:
    return files("tile_cuda.emulate.runtime").joinpath(name).read_text(encoding="utf-8")


def _fingerprint(spec: TargetSpec) -> str:
    return f"{_compiler().key()} {spec.toolchain.cpu} {_text('support.h')}"


def _compiler() -> Nvrtc:
    found = find_nvrtc()
    if found is None:
        raise TileError(
            "E3001",
            "emulation needs NVRTC, which makes PTX of the kernels",
            notes=("There is none for macOS.",),
            help="pip install 'tile-cuda[nvrtc]'; it needs no GPU and no driver.",
        )
    return found


def compile_ptx(source: str, arch: str, strict: bool = False, flags: Sequence[str] = ()) -> str:
    """CUDA C++ text to PTX for `arch` (`sm_90a`), with the lines of the source in it.

    Raises TileError E3001 without NVRTC, E3002 for text that it refuses.
    """
    virtual = arch.replace("sm_", "compute_")
    options = [o for o in options_for(virtual, strict) if not o.startswith("--ptxas")]
    lines = [] if "-lineinfo" in options else ["-lineinfo"]
    return _compiler().ptx(source, SOURCE_NAME, (*options, *lines, *flags))


def _translated(spec: TargetSpec, artifact: Artifact, flags: Sequence[str]) -> EmulationSource:
    ptx = compile_ptx(artifact.source, spec.toolchain.cpu, artifact.strict, flags)
    regions = regions_text(artifact.lowered)
    spans = (s.span for s in walk(artifact.lowered.body) if s.span is not None)
    files = {PurePath(span.file).name: span.file for span in spans}
    return source_of(ptx, artifact.source, artifact.host, regions, files)


def source_of(
    ptx: str, source: str, host: str, regions: str, user_files: Mapping[str, str] | None = None
) -> EmulationSource:
    """The emulator's text for PTX and the CUDA C++ that it came from. `user_files`: whole names of
    the files whose last part the comments of the source have."""
    module = parse(ptx)
    kernels = tuple(
        EmulatedKernel(
            name=k.name,
            entry=entry_name(k.name),
            parameters=tuple(k.parameters.values()),
            shared_bytes=k.shared_bytes,
            local_bytes=k.local_bytes,
            cluster=k.cluster,
        )
        for k in module.kernels
    )
    return EmulationSource(
        code=translate(module),
        kernels=kernels,
        host=host,
        regions=regions,
        places=_places(module, source, user_files or {}),
    )


def _places(
    module: Module, source: str, user_files: Mapping[str, str]
) -> dict[int, tuple[str, int, str, str]]:
    """What each line of the PTX is, by the line of the source and the comment above that."""
    lines = source.split("\n")
    users: list[str] = []
    for line in lines:
        mark = _MARK.search(line)
        file, number = mark.groups() if mark else ("", "")
        place = f"{user_files.get(file, file)}:{number}"
        users.append(place if mark else users[-1] if users else "")
    found = {}
    for kernel in module.kernels:
        for step in kernel.body:
            if isinstance(step, Instruction):
                at = module.source_lines.get(step.line, 0)
                known = 0 < at <= len(lines)
                found[step.line] = (
                    step.opcode,
                    at,
                    lines[at - 1].strip() if known else "",
                    users[at - 1] if known else "",
                )
    return found


# -- what the arguments point to


def regions_text(fn: Function) -> str:
    """Python text of `regions(*arguments)`: name, address, bytes of each buffer, whether it is
    written. Arguments are those of the function's host part."""
    buffers = [p.buffer for p in fn.params if p.buffer is not None]
    names = PythonNames(identifiers(fn, [x.name for x in buffers]))
    written = _written(fn)
    rows = [
        f"({x.name!r}, {names[x.name]}, {_bytes_text(x, names)}, {x.name in written})"
        for x in buffers
    ]
    arguments = [names[p.name] for p in fn.params] + [names[d.name] for d in fn.dims]
    return f"def regions({', '.join(arguments)}):\n    return [{', '.join(rows)}]\n"


def _written(fn: Function) -> frozenset[str]:
    homes = {s.buffer.name: s.source for s in walk(fn.body) if isinstance(s, View)}
    found = set()
    for effect in all_effects(fn.body):
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
