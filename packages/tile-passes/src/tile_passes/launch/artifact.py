"""What emitting a function for a device gives, before a compiler is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tile_ir.diag import TileError
from tile_passes.emit.names import c_name
from tile_passes.plan.model import Plan

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.emit.kernels import EmittedKernel, Source

__all__ = ["DeviceArtifact", "artifact_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceArtifact:
    """Device text, host text, how to call it.

    `signature` has "ptr" or the name of a type for each argument: the function's parameters in
    order, then its dimensions; `alignments` the bytes that the address of each parameter has to be
    a multiple of. `strict` is whether products and sums keep their own roundings.
    """

    source: str
    host: str
    entry: str
    signature: tuple[str, ...]
    alignments: tuple[int, ...]
    kernels: tuple[str, ...]
    strict: bool
    plan: Plan
    lowered: Function


Artifact = TypeVar("Artifact", bound=DeviceArtifact)


def artifact_of(
    kind: type[Artifact],
    fn: Function,
    made: Source,
    spec: TargetSpec,
    plan: Plan | None,
    **more: Any,
) -> Artifact:
    """The artifact of a function of stage `simt` that was printed; `more` has the fields that a
    target computes in its own way, `host` and `alignments` among them.

    Raises TileError E3010 where a block needs more shared memory than the description has.
    """
    for kernel in made.kernels:
        _check_shared(kernel, spec)
    kinds = ("ptr" if p.scalar is None else p.scalar.dtype.name for p in fn.params)
    return kind(
        source=made.text,
        entry=c_name(fn.name),
        signature=(*kinds, *(d.dtype.name for d in fn.dims)),
        kernels=tuple(kernel.name for kernel in made.kernels),
        strict=fn.numerics == "strict",
        plan=plan or Plan(),
        lowered=fn,
        **more,
    )


def _check_shared(kernel: EmittedKernel, spec: TargetSpec) -> None:
    limit = spec.capacity("shared")
    if kernel.shared_bytes > limit:
        raise TileError(
            "E3010",
            f"{kernel.name} needs {kernel.shared_bytes} bytes of shared memory for a block",
            notes=(f"{spec.arch} has {limit}",),
            help="Use smaller blocks or fewer stages.",
        )
