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
    def device(self) -> str:
        """The kind of memory that its kernels work on, as array libraries name it."""
        if self.stand_in is not None:
            return "cpu"
        return "cpu" if self.spec.family == "cpu" else self.request.name

    def __str__(self) -> str:
        return str(self.spec)


def select(target: Any = None, device: str | None = None) -> Target:
    """The target that `target` means: text ("cpu -arch=x86-64-v4"), a mapping, a manifest, or None
    for the default. "auto" is the installed target for the arrays' kind of `device`, where that is
    known, else what is at hand.

    Raises `TileError` E2014 when none is installed, E0901 and E0916 for unknown names,
    `PluginError` for a broken one.
    """
    if isinstance(target, Target):
        return target
    if isinstance(target, TargetManifest):
        request = TargetRequest(name=target.name)
        return Target(target, find_spec(target, request), request)
    wanted = target if target is not None else knobs.default_target()
    if wanted == "auto" and device in {e.name for e in discover("tile.targets")}:
        wanted = device
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
    manifest = load("tile.targets", name)
    found = TargetRequest(name=name, arch=request.arch, options=request.options)
    return Target(manifest, find_spec(manifest, found), found)


def _auto() -> Target:
    """The first installed target that finds its hardware here; the host's processor last."""
    notes = []
    for entry in sorted(discover("tile.targets"), key=lambda e: (e.name == "cpu", e.name)):
        try:
            manifest = load("tile.targets", entry.name)
            if manifest.host_arch is None or getattr(manifest, "status", "ready") == "planned":
                continue
            arch = resolve(manifest.host_arch)()
        except TileError as error:
            notes.append(f"{entry.name}: {error.message}")
            continue
        if arch is not None:
            return _from_request(TargetRequest(name=entry.name, arch=arch))
    raise TileError(
        "E2014",
        "no target is installed that can run here",
        notes=notes,
        help="pip install tile-cpu; `tile doctor` shows what is installed and what is wrong with "
        "it",
    )
