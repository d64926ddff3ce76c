"""Source without running: `lower(func, target)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_frontend.driver import lowered
from tile_frontend.target_select import select

if TYPE_CHECKING:
    from tile_frontend.language.function import PrimFunc
    from tile_ir.core import Param

__all__ = ["CompiledArtifact", "lower"]


@dataclass(frozen=True, slots=True)
class CompiledArtifact:
    """The generated source and the parameters of the program. There are no modules of the other
    compiler."""

    kernel_source: str
    params: tuple[Param, ...]


def lower(
    func_or_mod: PrimFunc,
    target: Any = "auto",
    target_host: Any = None,
    runtime_only: bool = False,
    enable_host_codegen: bool = False,
    enable_device_compile: bool = False,
) -> CompiledArtifact:
    """Generate the source of a function for a target; needs neither its device nor a compiler. The
    further arguments are accepted without effect.

    Raises `TileError` for what the verifier and the passes refuse.
    """
    artifact, _ = lowered(func_or_mod.function, select(target))
    return CompiledArtifact(artifact.source, func_or_mod.function.params)
