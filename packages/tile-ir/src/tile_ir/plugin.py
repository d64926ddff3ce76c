"""Plugins: found through entry points, listed without importing, loaded one at a time.

A broken plugin never breaks who does not need it: listing reads metadata only, and the error names
the distribution to blame. Wherever a name is accepted, the manifest itself may be passed instead.
"""

from __future__ import annotations

import difflib
import platform
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

from tile_ir.diag import TileError
from tile_ir.manifests import (
    PLUGIN_API,
    CommandManifest,
    DeviceManifest,
    DialectManifest,
    Manifest,
    OpManifest,
    PassManifest,
    Ref,
    TargetManifest,
    TunerManifest,
)

if TYPE_CHECKING:
    from typing import Literal

__all__ = [
    "GROUPS",
    "PLUGIN_API",
    "CommandManifest",
    "DeviceManifest",
    "DialectManifest",
    "DoctorReport",
    "Entry",
    "Manifest",
    "OpManifest",
    "PassManifest",
    "PluginError",
    "PluginStatus",
    "Ref",
    "TargetManifest",
    "TunerManifest",
    "discover",
    "doctor_report",
    "load",
    "load_all",
    "refresh",
    "resolve",
]

GROUPS: dict[str, type[Manifest]] = {
    "tile.targets": TargetManifest,
    "tile.devices": DeviceManifest,
    "tile.passes": PassManifest,
    "tile.ops": OpManifest,
    "tile.tuners": TunerManifest,
    "tile.dialects": DialectManifest,
    "tile.commands": CommandManifest,
}
"""Entry-point group -> the class that its manifests have."""


class PluginError(TileError):
    """A plugin that is installed and cannot be used: whose it is, and what went wrong in it.

    `cause` is the exception from inside the plugin, or None when two plugins collide.
    """

    def __init__(
        self,
        name: str,
        distribution: str,
        version: str,
        cause: BaseException | None,
        code: str = "E0903",
        message: str | None = None,
    ) -> None:
        text = message or f"plugin {name!r} of {distribution} {version} cannot be loaded"
        notes = () if cause is None else (_cause_text(cause),)
        what = f"mend, update or uninstall {distribution}; `tile doctor` lists every plugin"
        super().__init__(code, text, notes=notes, help=what)
        self.name = name
        self.distribution = distribution
        self.version = version
        self.cause = cause

    def __reduce__(self) -> tuple[object, ...]:
        args = (self.name, self.distribution, self.version, self.cause, self.code, self.message)
        return (type(self), args)


def _cause_text(cause: BaseException) -> str:
    if isinstance(cause, TileError):
        return cause.message
    return f"{type(cause).__name__}: {cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a distribution's metadata: who offers what under which name."""

    group: str
    name: str
    value: str
    distribution: str
    version: str

    @property
    def origin(self) -> str:
        """The distribution and its version, as shown to people."""
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginStatus:
    """The health of one entry: `error` is None when manifest and factories resolve."""

    entry: Entry
    manifest: Manifest | None
    error: TileError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """What `tile doctor` prints: the interpreter, our packages' versions, each plugin's health."""

    python: str
    platform: str
    packages: tuple[tuple[str, str], ...]
    plugins: tuple[PluginStatus, ...]

    @property
    def ok(self) -> bool:
        """Whether every installed plugin can be used."""
        return all(status.error is None for status in self.plugins)


@cache
def _installed() -> tuple[Entry, ...]:
    # The one place that reads metadata: it costs milliseconds, so it runs once and when needed.
    from importlib.metadata import entry_points

    found = entry_points()
    return tuple(
        Entry(
            group=group,
            name=point.name,
            value=point.value,
            distribution=point.dist.name if point.dist else "unknown",
            version=point.dist.version if point.dist else "?",
        )
        for group in GROUPS
        for point in found.select(group=group)
    )


def refresh() -> None:
    """Forget what was found and loaded, after an install or in a test."""
    _installed.cache_clear()
    _load_named.cache_clear()


def discover(group: str) -> tuple[Entry, ...]:
    """Return the installed entries of `group`, by name, without importing any of them.

    Two distributions that claim one name are both listed; only `load` of that name fails.
    Raises `TileError` E0907 for a group that does not exist.
    """
    if group not in GROUPS:
        raise TileError(
            "E0907",
            f"there is no plugin group {group!r}",
            help=f"the groups are {', '.join(GROUPS)}",
        )
    entries = (entry for entry in _installed() if entry.group == group)
    return tuple(sorted(entries, key=lambda e: (e.name, e.distribution)))


@overload
def load(group: Literal["tile.targets"], plugin: str | TargetManifest) -> TargetManifest: ...
@overload
def load(group: Literal["tile.devices"], plugin: str | DeviceManifest) -> DeviceManifest: ...
@overload
def load(group: Literal["tile.passes"], plugin: str | PassManifest) -> PassManifest: ...
@overload
def load(group: Literal["tile.ops"], plugin: str | OpManifest) -> OpManifest: ...
@overload
def load(group: Literal["tile.tuners"], plugin: str | TunerManifest) -> TunerManifest: ...
@overload
def load(group: Literal["tile.dialects"], plugin: str | DialectManifest) -> DialectManifest: ...
@overload
def load(group: Literal["tile.commands"], plugin: str | CommandManifest) -> CommandManifest: ...
@overload
def load(group: str, plugin: str | Manifest) -> Manifest: ...
def load(group: str, plugin: str | Manifest) -> Manifest:
    """Return the manifest named `plugin`, importing that one only; a manifest is returned as is.

    Raises `TileError` E0901 when nothing of that name is installed, `PluginError` E0903 (or the
    manifest's own code) when it is broken, E0904 when two distributions claim the name.
    """
    if isinstance(plugin, Manifest):
        return _checked(plugin, group)
    return _load_named(group, plugin)


def _checked(manifest: Manifest, group: str) -> Manifest:
    wanted = GROUPS.get(group, Manifest)
    if isinstance(manifest, wanted):
        return manifest
    raise manifest.invalid(f"{manifest.name!r} was passed where {group} wants {wanted.__name__}")


@cache
def _load_named(group: str, name: str) -> Manifest:
    entries = discover(group)
    matches = [entry for entry in entries if entry.name == name]
    if not matches:
        raise _not_installed(group, name, entries)
    if len(matches) > 1:
        raise _claimed_twice(matches)
    return _load_entry(matches[0])


def _not_installed(group: str, name: str, entries: tuple[Entry, ...]) -> TileError:
    names = [entry.name for entry in entries]
    close = difflib.get_close_matches(name, names, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    return TileError(
        "E0901",
        f"no plugin {name!r} in the group {group}",
        notes=(f"installed there: {', '.join(names) or 'none'}",),
        help=f"{guess}install the package that offers it; `tile doctor` lists every plugin",
    )


def _claimed_twice(matches: list[Entry]) -> PluginError:
    first = matches[0]
    origins = " and ".join(entry.origin for entry in matches)
    return PluginError(
        first.name,
        first.distribution,
        first.version,
        None,
        "E0904",
        f"{first.group} name {first.name!r} is claimed by {origins}",
    )


def _load_entry(entry: Entry) -> Manifest:
    try:
        return _as_manifest(resolve(entry.value), entry)
    except Exception as error:
        cause = _inner(error)
        code = cause.code if isinstance(cause, TileError) else "E0903"
        origin = (entry.name, entry.distribution, entry.version)
        raise PluginError(*origin, cause, code) from error


def _inner(error: BaseException) -> BaseException:
    """Return the plugin's own exception behind a reference that does not resolve."""
    is_ours = isinstance(error, TileError) and error.code == "E0906"
    return error.__cause__ or error if is_ours else error


def _as_manifest(manifest: object, entry: Entry) -> Manifest:
    wanted = GROUPS[entry.group]
    if not isinstance(manifest, wanted):
        found = type(manifest).__name__
        raise TileError(
            "E0902",
            f"{entry.value} is a {found}, expected a {wanted.__name__}",
            notes=(f"it is offered by {entry.origin} in the group {entry.group}",),
            help=f"let the entry point name a {wanted.__name__} of tile_ir.manifests",
        )
    if manifest.name != entry.name:
        raise manifest.invalid(f"is named {manifest.name!r} but installed as {entry.name!r}")
    return manifest


def load_all(group: str) -> tuple[tuple[Manifest, ...], tuple[PluginError, ...]]:
    """Return the usable manifests of `group`, and the errors of the others.

    For who wants whatever there is (a pipeline and its third-party passes) and shall neither stop
    at a stranger's mistake nor hide it.
    """
    manifests: list[Manifest] = []
    errors: list[PluginError] = []
    for name in sorted({entry.name for entry in discover(group)}):
        try:
            manifests.append(_load_named(group, name))
        except PluginError as error:
            errors.append(error)
    return tuple(manifests), tuple(errors)


def resolve(ref: Ref) -> Any:
    """Return what a reference names: imports the module of `"module:attr"`, follows the dots.

    A callable is returned as it is. Raises `TileError` E0906, with the plugin's own exception as
    its cause, when the module cannot be imported or holds no such attribute.
    """
    if not isinstance(ref, str):
        return ref
    module, _, attribute = ref.partition(":")
    try:
        value: Any = import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part)
    except Exception as cause:
        raise TileError(
            "E0906",
            f"{ref!r} cannot be resolved",
            notes=(_cause_text(cause),),
            help="the plugin's own code failed, or a dependency of it is missing",
        ) from cause
    return value


def doctor_report() -> DoctorReport:
    """Return the health of everything installed. Imports every plugin and its factories."""
    plugins = tuple(_status(entry) for group in GROUPS for entry in discover(group))
    return DoctorReport(
        python=sys.version.split()[0],
        platform=platform.platform(),
        packages=_our_packages(),
        plugins=plugins,
    )


def _status(entry: Entry) -> PluginStatus:
    manifest = None
    try:
        manifest = load(entry.group, entry.name)
        for ref in manifest.factories().values():
            resolve(ref)
    except TileError as error:
        return PluginStatus(entry=entry, manifest=manifest, error=error)
    return PluginStatus(entry=entry, manifest=manifest, error=None)


def _our_packages() -> tuple[tuple[str, str], ...]:
    from importlib.metadata import distributions

    found = {d.name: d.version for d in distributions() if (d.name or "").startswith("tile-")}
    return tuple(sorted(found.items()))
