"""An artifact of this target as text for the emulator."""

from __future__ import annotations

import re
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.emulation import Emulation, EmulationSource
from tile_passes.launch.emulated import emulated_kernel, entry_text, line_places, regions_text
from tile_rocm.emulate.instructions import definitions, known_builtins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_rocm.driver import Artifact

__all__ = ["emulation", "source_of"]

KERNEL = re.compile(r"^TILE_KERNEL\(\d+\).* void (\w+)\((.*)\) \{$", re.MULTILINE)
ARENA = re.compile(r"TILE_SHARED unsigned char arena\[(\d+)\];")
OWN = re.compile(r"#define (?:TILE_FN|TILE_KERNEL|TILE_BLOCKS|TILE_SHARED)\b(?:.*\\\n)*.*")
BUILTIN = re.compile(r"__builtin_amdgcn_\w+")


def emulation(spec: TargetSpec) -> Emulation:
    """This target's part of the emulator, for one description."""
    banks = spec.scopes["shared"].banks
    return Emulation(
        name=f"rocm-{spec.warp_width}-{banks}",
        interface=_text("hip_api.h"),
        layer=_text("hip.c"),
        translate=partial(_translated, spec),
        fingerprint=partial(_fingerprint, spec),
        lanes=spec.warp_width,
        banks=banks,
        compiled=True,
    )


def _text(name: str) -> str:
    return files("tile_rocm.emulate.runtime").joinpath(name).read_text(encoding="utf-8")


def _fingerprint(spec: TargetSpec) -> str:
    return f"{spec.toolchain.cpu} {_text('support.h')}"


def _translated(spec: TargetSpec, artifact: Artifact, flags: Sequence[str]) -> EmulationSource:
    """Flags are those of the device's compiler, and change nothing here."""
    return source_of(
        artifact.source,
        spec.toolchain.cpu,
        artifact.host,
        regions_text(artifact.lowered),
        artifact.lowered,
    )


def source_of(
    source: str, arch: str, host: str, regions: str, fn: Function | None = None
) -> EmulationSource:
    """The emulator's text for emitted HIP C++.

    Raises TileError E2301 for a builtin of AMD's compiler that has no meaning here.
    """
    unknown = sorted(set(BUILTIN.findall(source)) - known_builtins(source, _text("support.h")))
    if unknown:
        raise TileError(
            "E2301",
            f"the emulator does not know {unknown[0]}",
            help="Run on a device, or report the instruction.",
        )
    heads = KERNEL.findall(source)
    kernels = tuple(emulated_kernel(name, len(_types(taken))) for name, taken in heads)
    body = "\n".join(
        [
            _text("support.h"),
            definitions(source, arch),
            "namespace emitted {",
            '#line 1 "kernel"',
            _own_words(source),
            "}",
            '#line 1 "entries"',
            *(entry_text(name, _types(taken)) for name, taken in heads),
        ]
    )
    places = line_places(source, fn)
    return EmulationSource(code=body, kernels=kernels, host=host, regions=regions, places=places)


def _types(parameters: str) -> tuple[str, ...]:
    """The types of declared parameters."""
    return tuple(re.sub(r"\w+$", "", p).strip() for p in parameters.split(", ") if p)


def _own_words(source: str) -> str:
    """The source with this emulator's words in front of functions, line for line."""
    kept = OWN.sub(lambda m: "\n" * m[0].count("\n"), source)
    return ARENA.sub("unsigned char *const arena = emu_arena();", kept)
