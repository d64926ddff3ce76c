"""What this target gives to an exported library: machine code as arrays, and launches in C through
the driver, which is looked up when a kernel is first called. Neither building nor running such a
library needs a CUDA toolkit."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_cuda.container import ARCHIVE
from tile_cuda.emit import emit_function
from tile_cuda.exported.host import host_text
from tile_ir.diag import InternalError
from tile_passes.launch.exported import Part, Unit, array_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.target import TargetSpec
    from tile_passes.launch.exported import Built

__all__ = ["CudaExporter"]

DEVICE_MEMORY = (2, 13)
"""kDLCUDA, kDLCUDAManaged of DLPack."""
_ARCH = re.compile(r"sm_(\d+)(\d)([af]?)\Z")


def _loader() -> dict[str, str]:
    text = files("tile_cuda.exported").joinpath("arrays.py").read_text("utf-8")
    return {"_arrays.py": text}


@dataclass(frozen=True, slots=True)
class CudaExporter:
    """Exports for one description."""

    spec: TargetSpec
    refused: Mapping[str, str] = field(default_factory=dict)
    device_types: tuple[int, ...] = DEVICE_MEMORY
    libraries: tuple[str, ...] = ("-pthread", "-ldl", "-lm")
    statuses: tuple[str, ...] = (
        "E0806", "E3007", "E3008", "E3009", "E3010", "E3011", "E3013", "E3016", "E3017", "E3018",
    )  # fmt: skip
    loader: Mapping[str, str] = field(default_factory=_loader)

    @property
    def rank(self) -> int:
        """By compute capability, code for one architecture alone before code for its family."""
        major, minor, only = self._arch()
        return 100 * major + 10 * minor + bool(only)

    def _arch(self) -> tuple[int, int, str]:
        found = _ARCH.match(self.spec.toolchain.cpu)
        if found is None:
            raise InternalError("E9001", f"{self.spec.toolchain.cpu} is no architecture")
        return int(found[1]), int(found[2]), found[3]

    def runtime(self) -> str:
        """The driver, looked up by name, and what launches need of it."""
        return files("tile_cuda.exported").joinpath("driver.c").read_text("utf-8")

    def part(self, built: Built) -> Part:
        """A kernel: its host part in C, its machine code in a unit, its source to read."""
        lowered, symbol = built.lowered(), built.symbol
        source = emit_function(lowered, self.spec)
        if source.text != built.artifact.source:
            raise InternalError("E9001", f"{built.artifact.entry} was emitted otherwise before")
        names = ", ".join(f'"{k.name}"' for k in source.kernels)
        shared = ", ".join(str(k.shared_bytes) for k in source.kernels)
        major, minor, only = self._arch()
        text = _MODULE.format(
            s=symbol, names=names or "NULL", shared=shared or "0", count=len(source.kernels),
            most=max(len(source.kernels), 1), major=major, minor=minor, exactly=int(only == "a"),
        )  # fmt: skip
        code = ARCHIVE.unpack(built.path).code
        return Part(
            text=text + host_text(lowered, source, symbol),
            units=(Unit(name=f"{symbol}_code.c", text=array_text(f"{symbol}_code", code)),),
            files={f"{symbol}.cu": source.text.encode()},
        )


_MODULE = """\
extern const uint64_t {s}_code[];
static const char *const {s}_names[] = {{{names}}};
static const int32_t {s}_shared[] = {{{shared}}};
static void *{s}_functions[TILE_MAX_DEVICES * {most}];
static struct tile_module {s}_module = {{
    .code = {s}_code, .kernels = {count}, .names = {s}_names, .shared = {s}_shared,
    .functions = {s}_functions,
}};
static int32_t {s}_fits(int32_t device) {{
  return tile_gpu_is(device, {major}, {minor}, {exactly});
}}
"""
