"""Kernels of this target in a library of their own: each a C file with the flags of its
architecture, with a thread pool that belongs to the library."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from tile_cpu import pool
from tile_cpu.compiler_errors import file_error
from tile_cpu.driver import kernel_flags
from tile_cpu.toolchain import COMMON_FLAGS, find_toolchain, run_compiler
from tile_ir.diag import InternalError
from tile_passes.launch.exported import Part, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_ir.target import TargetSpec
    from tile_passes.launch.exported import Built

__all__ = ["CpuExporter"]

HOST_MEMORY = (1, 3, 11, 13)
"""kDLCPU, then memory that the host reaches too: kDLCUDAHost, kDLROCMHost, kDLCUDAManaged."""
PUBLIC = '#define TILE_EXPORT __attribute__((visibility("default")))'
PRIVATE = "#define TILE_EXPORT __attribute__((unused)) static"
FROM_COMPILER = frozenset({"-shared"})
"""Flags for the linker, of those of every build."""


@dataclass(frozen=True, slots=True)
class CpuExporter:
    """Exports for one description; also what compiles and links the libraries of other targets."""

    spec: TargetSpec
    refused: Mapping[str, str] = field(default_factory=dict)
    device_types: tuple[int, ...] = HOST_MEMORY
    libraries: tuple[str, ...] = ("-pthread", "-lm")
    statuses: tuple[str, ...] = ("E0805", "E0806", "E9001")
    loader: Mapping[str, str] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        """How many features of a processor the architecture takes."""
        return len(self.spec.toolchain.host_features)

    def runtime(self) -> str:
        """The thread pool, with nothing that another library could see, and host memory."""
        text = pool.source()
        if text.count(PUBLIC) != 1:
            raise InternalError("E9001", "the pool's text declares its visibility otherwise")
        own = files("tile_cpu.pool").joinpath("exported.c").read_text("utf-8")
        return text.replace(PUBLIC, PRIVATE) + own

    def part(self, built: Built) -> Part:
        """A kernel as emitted, its entry under a name of the library's own."""
        artifact, symbol = built.artifact, built.symbol
        head = f"TILE_EXPORT int32_t {artifact.entry}("
        if artifact.source.count(head) != 1:
            raise InternalError("E9001", f"{artifact.entry} is not declared once")
        text = artifact.source.replace(head, f"int32_t {symbol}_entry(")
        unit = Unit(
            name=f"{symbol}.c",
            text=text,
            flags=(*kernel_flags(self.spec, artifact.strict), *built.flags),
        )
        needs = ", ".join(f'"{f}"' for f in sorted(self.spec.toolchain.host_features))
        return Part(
            text=_VARIANT.format(s=symbol, needs=f"{needs}, " if needs else ""), units=(unit,)
        )

    def command(self) -> tuple[str, ...]:
        """Flags of every unit, but for those that say what is made."""
        return tuple(f for f in COMMON_FLAGS if f not in FROM_COMPILER)

    def link(self, units: Sequence[Unit], out: Path, libraries: Sequence[str]) -> None:
        """Compile the units and link them to `out`, which appears complete or not at all.

        Units may include each other by name. Raises TileError E0801 without a compiler, E0802 when
        it refuses a unit, E0803 where `out` cannot be written.
        """
        chosen = find_toolchain()
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.stem}.") as room:
                for unit in units:
                    Path(room, unit.name).write_text(unit.text, "utf-8")
                objects = []
                for unit in (u for u in units if u.name.endswith(".c")):
                    source, made = Path(room, unit.name), Path(room, f"{unit.name}.o")
                    flags = (*self.command(), *unit.flags, "-c")
                    run_compiler(chosen, source, made, flags, unit.text)
                    objects.append(made)
                built, others = Path(room, "library.out"), [str(o) for o in objects[1:]]
                run_compiler(chosen, objects[0], built, ("-shared", *others, *libraries), "")
                os.replace(built, out)
        except OSError as error:
            raise file_error(error, out) from error


_VARIANT = """\
int32_t {s}_entry(const uint64_t *args, const struct tile_rt *rt);
static const char *const {s}_features[] = {{{needs}NULL}};
static int32_t {s}_fits(int32_t device) {{
  (void)device;
  return tile_machine_has({s}_features);
}}
static int32_t {s}_run(const uint64_t *args, int32_t device, void *stream) {{
  (void)device, (void)stream;
  return tile_launch({s}_entry, args);
}}
"""
