"""An artifact of this target as text for the emulator."""

from __future__ import annotations

import re
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_ir.emulation import Emulation, EmulationSource
from tile_passes.launch.emulated import emulated_kernel, entry_text, line_places, regions_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_metal.driver import Artifact

__all__ = ["emulation", "source_of"]

KERNEL = re.compile(
    r"^TILE_KERNEL\(\d+\) (?P<name>\w+)\(\s*(?:(?P<taken>[^{}]*),\s*)?TILE_PLACE\) \{$",
    re.MULTILINE,
)
OWN = re.compile(r"#include <metal_stdlib>|#define TILE_(?:FN|KERNEL|PLACE|ARENA)\b(?:.*\\\n)*.*")
SCALAR = re.compile(r"\bconstant ([\w ]+) &(\w+)")
"""A parameter by reference, into memory that no argument names: passed as a value here."""
ATTRIBUTE = re.compile(r" *\[\[[^\]]*\]\]")
PLACE = "metal_thread(), emu_lane(), metal_simdgroup(), metal_block(), metal_blocks()"
"""The arguments behind a kernel's own, in the order of TILE_PLACE."""


def emulation(spec: TargetSpec) -> Emulation:
    """This target's part of the emulator, for one description."""
    return Emulation(
        name="metal",
        interface=_text("metal_api.h"),
        layer=_text("metal.c"),
        translate=_translated,
        fingerprint=partial(_text, "metal_stdlib.h"),
        lanes=spec.warp_width,
        compiled=True,
    )


def _text(name: str) -> str:
    return files("tile_metal.emulate.runtime").joinpath(name).read_text(encoding="utf-8")


def _translated(artifact: Artifact, flags: Sequence[str]) -> EmulationSource:
    """Flags are those of Apple's compiler, and change nothing here."""
    low = artifact.lowered
    return source_of(artifact.source, artifact.host, regions_text(low), low)


def source_of(source: str, host: str, regions: str, fn: Function | None = None) -> EmulationSource:
    """The emulator's text for emitted Metal source."""
    heads = [(m["name"], _types(m["taken"] or "")) for m in KERNEL.finditer(source)]
    body = "\n".join(
        [
            _text("metal_stdlib.h"),
            "namespace emitted {",
            '#line 1 "kernel"',
            _own_words(source),
            "}",
            '#line 1 "entries"',
            *(entry_text(name, types, PLACE) for name, types in heads),
        ]
    )
    return EmulationSource(
        code=body,
        kernels=tuple(emulated_kernel(name, len(types)) for name, types in heads),
        host=host,
        regions=regions,
        places=line_places(source, fn),
    )


def _own_words(source: str) -> str:
    """The source with this emulator's library in the place of Apple's, line for line."""
    kept = OWN.sub(lambda m: "\n" * m[0].count("\n"), source)
    return SCALAR.sub(r"\1 \2", ATTRIBUTE.sub("", kept))


def _types(parameters: str) -> tuple[str, ...]:
    """The types of declared parameters; a reference is to what lies there."""
    declared = re.split(r",\s*", ATTRIBUTE.sub("", parameters))
    return tuple(re.sub(r"&?\w+$", "", p).strip() for p in declared if p)
