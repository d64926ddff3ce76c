"""An artifact of this target as text for the emulator."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_cuda.emulate.ptx import Instruction, parse
from tile_cuda.emulate.translate import entry_name, pieces, translate
from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.toolchain import SOURCE_NAME, options_for
from tile_ir.diag import TileError
from tile_ir.emulation import EmulatedKernel, Emulation, EmulationSource
from tile_passes.launch.emulated import regions_text, user_files, user_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_cuda.driver import Artifact
    from tile_cuda.emulate.ptx import Module
    from tile_cuda.nvrtc import Nvrtc
    from tile_ir.target import TargetSpec

__all__ = ["compile_ptx", "emulation", "source_of"]

LAYER = ("mma.c", "wgmma.c", "print.c")


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
    files = user_files(artifact.lowered)
    return source_of(ptx, artifact.source, artifact.host, regions, files)


def source_of(
    ptx: str, source: str, host: str, regions: str, files_of: Mapping[str, str] | None = None
) -> EmulationSource:
    """The emulator's text for PTX and the CUDA C++ that it came from. `files_of`: whole names of
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
            mix=tuple(counts for _, counts in pieces(k)),
        )
        for k in module.kernels
    )
    return EmulationSource(
        code=translate(module),
        kernels=kernels,
        host=host,
        regions=regions,
        places=_places(module, source, user_places(source, files_of or {})),
    )


def _places(
    module: Module, source: str, users: Sequence[str]
) -> dict[int, tuple[str, int, str, str]]:
    """What each line of the PTX is, by the line of the source and the comment above that."""
    lines = source.split("\n")
    found = {}
    for kernel in (*module.kernels, *module.functions):
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
