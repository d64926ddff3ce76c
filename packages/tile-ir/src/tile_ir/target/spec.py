"""What a target can do, as one frozen value.

Passes ask a `TargetSpec` for capabilities and never for a vendor or an architecture. Rates are for
one core (a multiprocessor of a GPU, a core of a CPU) unless the field says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tile_ir.diag import TileError
from tile_ir.target.matrix import MatrixAtom  # noqa: TC001 -- the YAML reader resolves it
from tile_ir.target.memory import Barrier, Cluster, CopyEngine, Registers, Scope, VectorUnit
from tile_ir.target.request import TargetRequest
from tile_ir.typed_yaml import Table, dump

__all__ = ["Rates", "TargetSpec", "ToolchainHints"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What the performance model counts with. Bytes per cycle are for one core unless `device_`."""

    clock_hz: float = 0.0
    cores: int = 1
    vector_flops: float = 0.0
    """Multiplications and additions in f32 per cycle and core."""
    issue: float = 1.0
    """Instructions (of a whole warp on a GPU) per cycle and core."""
    shared_bytes: float = 0.0
    cache_bytes: float = 0.0
    device_bytes: float = 0.0
    """Bytes per cycle between the device's memory and all cores together."""
    global_latency: int = 0
    cache_latency: int = 0
    """Cycles until a load that the shared cache has is there; 0: as `global_latency`."""
    shared_latency: int = 0
    settle_latency: int = 0
    """Fixed cycles from waiting for an asynchronous group to its results being usable."""
    launch_seconds: float = 0.0
    sustained: float = 1.0
    """The part of `clock_hz` that is left when the matrix units of all cores are busy for long:
    power limits it."""
    sustained_seconds: float = 0.0
    """The time after which half of that loss has set in."""
    math: Table[float] = field(default_factory=Table)
    """Cost of a function for one element, in multiples of an f32 addition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolchainHints:
    """What the target's own toolchain needs to know; neutral passes do not look here."""

    flags: tuple[str, ...] = ()
    triple: str = ""
    cpu: str = ""
    host_features: tuple[str, ...] = ()
    """Features that a machine must report to be recognised as this architecture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """The description of one architecture of one target."""

    name: str
    """The target's public name, as in `parse_target`."""
    arch: str
    family: Literal["gpu", "cpu"]
    description: str = ""
    aliases: tuple[str, ...] = ()
    warp_width: int = 1
    group_warps: int = 1
    """Warps that form the unit in which roles are assigned and matrix groups issue."""
    max_threads: int = 1
    """Threads of a block."""
    max_blocks_per_core: int = 1
    max_threads_per_core: int = 0
    """Threads of all blocks that a core runs at once; 0: not described."""
    registers: Registers | None = None
    vector_unit: VectorUnit = field(default_factory=VectorUnit)
    scopes: Table[Scope] = field(default_factory=Table)
    access_bytes: tuple[int, ...] = ()
    """Sizes of one thread's load or store, largest first."""
    vector_lanes: Table[int] = field(default_factory=Table)
    """Lanes of the widest arithmetic on a type; 1 for a type that is not listed."""
    dtypes: frozenset[str] = frozenset()
    """Types with native arithmetic; others are converted."""
    matrix: Table[MatrixAtom] = field(default_factory=Table)
    copy: Table[CopyEngine] = field(default_factory=Table)
    barriers: Table[Barrier] = field(default_factory=Table)
    cluster: Cluster = field(default_factory=Cluster)
    proxies: tuple[str, ...] = ("generic",)
    """Views of memory that need a fence between them."""
    atomics: Table[tuple[str, ...]] = field(default_factory=Table)
    """Operation -> types for which it is one instruction; else it is a compare-and-swap loop."""
    rates: Rates = field(default_factory=Rates)
    features: frozenset[str] = frozenset()
    """Capabilities without a number, asked by `has`."""
    hints: Table[str] = field(default_factory=Table)
    """Behaviour of the vendor's compiler that plans must respect, by name."""
    toolchain: ToolchainHints = field(default_factory=ToolchainHints)

    def __post_init__(self) -> None:
        if self.warp_width < 1 or self.max_threads < self.warp_width:
            raise TileError(
                "E0913",
                "max_threads must be at least warp_width, and that at least 1",
                help=f"correct warp_width ({self.warp_width}) or max_threads ({self.max_threads})",
            )
        for engine in self.copy.values():
            self._known_scope(engine.source, f"copy engine {engine.name}")
            self._known_scope(engine.destination, f"copy engine {engine.name}")

    def _known_scope(self, scope: str, who: str) -> None:
        if scope not in self.scopes:
            known = ", ".join(self.scopes)
            raise TileError("E0913", f"{who} names the scope {scope!r}", help=f"there are {known}")

    def __str__(self) -> str:
        return str(TargetRequest(name=self.name, arch=self.arch))

    def has(self, feature: str) -> bool:
        """Return whether the architecture lists `feature`."""
        return feature in self.features

    def lanes(self, dtype: str) -> int:
        """Return the lanes of the widest arithmetic on `dtype` (a canonical type name)."""
        return self.vector_lanes.get(dtype, 1)

    def capacity(self, scope: str) -> int:
        """Return the bytes of a scope; 0 when it does not exist or has no fixed size."""
        found = self.scopes.get(scope)
        return (found.bytes or 0) if found else 0

    def atoms(self, a: str, b: str, accumulator: str) -> tuple[MatrixAtom, ...]:
        """Return the atoms for these operand types (canonical names), fastest first."""
        wanted = (a, b, accumulator)
        found = (
            atom
            for atom in self.matrix.values()
            if (atom.a.dtype, atom.b.dtype, atom.accumulator.dtype) == wanted
        )
        return tuple(sorted(found, key=lambda atom: -atom.rate))

    def engines(self, source: str, destination: str) -> tuple[CopyEngine, ...]:
        """Return the copy engines between two scopes, in the order of the description."""
        found = self.copy.values()
        return tuple(e for e in found if (e.source, e.destination) == (source, destination))

    def to_yaml(self) -> str:
        """Return the description as text that `load_spec` reads back to an equal value."""
        return dump(self)
