"""Choosing a target: an explicit object, a name, or "auto" for what is installed and at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tile_frontend import knobs
from tile_ir.diag import TileError
from tile_ir.plugin import DeviceManifest, TargetManifest, discover, load, resolve
from tile_ir.target import TargetRequest, TargetSpec, find_spec, parse_target

_ALIASES = {"c": "cpu", "llvm": "cpu"}


@dataclass(frozen=True, slots=True)
class Target:
    """A chosen target: its plugin, the description of the architecture, what was asked for, and
    the plugin that runs its kernels in the place of its own device (None: they run there)."""

    manifest: TargetManifest
    spec: TargetSpec
    request: TargetRequest
    stand_in: DeviceManifest | None = None

    def on(self, device: str | None) -> Target:
        """The same target with another device to run on, such as "emulator".

        Raises `TileError` E0901 when none of that name is installed, E2300 for one that does not
        take this target.
        """
        if device is None:
            return self
        found = load("tile.devices", device)
        if found.targets and self.manifest.name not in found.targets:
            raise TileError(
                "E2300",
                f"the device {device} does not run kernels for {self.manifest.name}",
                notes=(f"it takes {', '.join(found.targets)}",),
                help="leave out device=, or choose one of those targets",
            )
        return replace(self, stand_in=found)

    @property
    def is_installed(self) -> bool:
        """Whether other processes find the same plugin under its name."""
        names = {entry.name for entry in discover("tile.targets")}
        return self.manifest.name in names and load("tile.targets", self.manifest.name) is (
            self.manifest
        )

    @property
    def memory(self) -> tuple[str, ...]:
        """The kinds of memory that its kernels work on, as array libraries name them."""
        on_host = self.stand_in is not None or self.spec.family == "cpu"
        return ("cpu",) if on_host else memory_of(self.manifest)

    @property
    def device(self) -> str:
        """The first of those kinds, where arrays are made that no argument asks for."""
        return self.memory[0]

    def __str__(self) -> str:
        return str(self.spec)


def memory_of(manifest: TargetManifest) -> tuple[str, ...]:
    """The kinds of memory that a target's kernels work on, as array libraries name them."""
    return manifest.memory or (manifest.name,)


def select(target: Any = None, device: str | None = None) -> Target:
    """The target that `target` means: text ("cpu -arch=x86-64-v4"), a mapping, a manifest, or None
    for the default. "auto" is an installed target for the arrays' kind of `device`, where that is
    known, else what is at hand; of several, the first by rank that finds its hardware here.

    Raises `TileError` E2014 when none is installed, E0901 and E0916 for unknown names,
    `PluginError` for a broken one.
    """
    if isinstance(target, Target):
        return target
    if isinstance(target, TargetManifest):
        request = TargetRequest(name=target.name)
        return Target(target, find_spec(target, request), request)
    wanted = target if target is not None else knobs.default_target()
    if wanted == "auto" and device is not None:
        wanted = _for_memory(device)
    if isinstance(wanted, str):
        return _named(wanted)
    if isinstance(wanted, (Mapping, TargetRequest)):
        return _from_request(parse_target(wanted))
    raise TileError(
        "E2015",
        f"target={target!r} is no target",
        help='write it as in "cpu", "cpu -arch=x86-64-v4", or pass a TargetManifest',
    )


@cache
def _named(text: str) -> Target:
    if text == "auto":
        return _auto()
    return _from_request(parse_target(text))


def _from_request(request: TargetRequest) -> Target:
    name = _ALIASES.get(request.name, request.name)
    manifest = _loaded(name)
    found = TargetRequest(name=name, arch=request.arch, options=request.options)
    return Target(manifest, find_spec(manifest, found), found)


def _loaded(name: str) -> TargetManifest:
    """The plugin of that name; the error for none says what brings it."""
    try:
        return load("tile.targets", name)
    except TileError as error:
        if error.code != "E0901" or name not in absent_targets():
            raise
        brings = f'pip install "tile-frontend[{name}]"; `tile doctor` lists every plugin'
        raise TileError(error.code, error.message, notes=error.notes, help=brings) from None


@cache
def _for_memory(kind: str) -> str:
    """The name of the installed target that works on arrays of this kind, else "auto"."""
    fitting = [m for m, _ in installed() if m is not None and kind in memory_of(m)]
    if len(fitting) > 1:
        fitting = [m for m in fitting if presence(m).arch is not None] or fitting
    return fitting[0].name if fitting else "auto"


def installed() -> list[tuple[TargetManifest | None, str]]:
    """The installed targets by rank, each with its name; then None for each broken one, with what
    is wrong with it."""
    found: list[tuple[TargetManifest | None, str]] = []
    broken: list[tuple[TargetManifest | None, str]] = []
    for entry in discover("tile.targets"):
        try:
            found.append((load("tile.targets", entry.name), entry.name))
        except TileError as error:
            broken.append((None, f"{entry.name}: {error.message}"))
    return [*sorted(found, key=lambda f: (f[0].rank if f[0] else 0, f[1])), *broken]


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether a target finds its hardware here: the architecture, or why there is none and what
    helps."""

    arch: str | None
    why: str = ""
    help: str = ""


def presence(manifest: TargetManifest) -> Presence:
    """Ask a target for the hardware at hand; imports what its runtime needs."""
    if manifest.status == "planned":
        return Presence(None, "planned, not built yet")
    if manifest.host_arch is None:
        return Presence(None, "it does not say what hardware it finds", "name an architecture")
    try:
        arch = resolve(manifest.host_arch)()
    except TileError as error:
        return Presence(None, error.message, error.help or "")
    return Presence(arch) if arch is not None else Presence(None, "no hardware of its kind")


def absent_targets() -> list[str]:
    """What `pip install` would bring: the extras of this distribution that are named after the
    package they ask for, and are no installed target."""
    from importlib.metadata import metadata  # asked when something is missing

    here, about = {e.name for e in discover("tile.targets")}, metadata("tile-frontend")
    wanted = about.get_all("Requires-Dist") or []
    extras = about.get_all("Provides-Extra") or []
    return [e for e in extras if e not in here and any(w.startswith(f"tile-{e}") for w in wanted)]


def _auto() -> Target:
    """The first installed target, by rank, that finds its hardware here."""
    notes = []
    for manifest, trouble in installed():
        if manifest is None:
            notes.append(trouble)
            continue
        found = presence(manifest)
        if found.arch is not None:
            return _from_request(TargetRequest(name=manifest.name, arch=found.arch))
        notes.append(f"{manifest.name}: {found.why}" + (f" ({found.help})" if found.help else ""))
    missing = absent_targets()
    if missing:
        notes.append(f"not installed: {', '.join(missing)}")
    wanted = missing[0] if missing else "cpu"
    raise TileError(
        "E2014",
        "no target is installed that can run here",
        notes=notes,
        help=f'pip install "tile-frontend[{wanted}]"; `tile doctor` shows what is installed and '
        "what is wrong with it; target= or TILE_TARGET name one to compile for without running",
    )
