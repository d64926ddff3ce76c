"""Manifests: what a plugin says about itself.

A manifest is a frozen value that is checked when it is made and names its factories as lazy
references (`"module:attr"`), so listing what is installed imports no emitter, toolchain or runtime.
A module that holds a manifest should import nothing but `tile_ir.plugin`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

from tile_ir.diag import TileError

__all__ = [
    "PLUGIN_API",
    "CommandManifest",
    "DeviceManifest",
    "DialectManifest",
    "Manifest",
    "OpManifest",
    "PassManifest",
    "Ref",
    "TargetManifest",
    "TunerManifest",
]

PLUGIN_API = 1
"""The version of this contract; a manifest made for another one is refused with both numbers."""

# A factory: `"module:attr"`, or the callable itself in a manifest that is passed as an object.
Ref: TypeAlias = str | Callable[..., Any]

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*\Z")
_REF = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What every plugin states: its name, in one line what it is, and the contract it speaks.

    Raises `TileError` E0902 when a field is malformed, E0905 when `plugin_api` is not ours.
    """

    # The fields that hold factories; those outside `optional_refs` must be given.
    refs: ClassVar[tuple[str, ...]] = ()
    optional_refs: ClassVar[tuple[str, ...]] = ()

    name: str
    description: str = ""
    # A planned plugin holds its name and says so; its factories raise an error.
    status: Literal["ready", "planned"] = "ready"
    # Left out means the first version of the contract, whatever version is installed later.
    plugin_api: int = 1

    def __post_init__(self) -> None:
        if not _NAME.match(str(self.name)):
            raise self.invalid(f"name {self.name!r} is not lower-case words joined by '-' or '_'")
        if self.plugin_api != PLUGIN_API:
            raise TileError(
                "E0905",
                f"plugin {self.name!r} speaks plugin API {self.plugin_api}, "
                f"this tile-ir speaks {PLUGIN_API}",
                help="install the version of the plugin that was made for this tile-ir",
            )
        for field in (*self.refs, *self.optional_refs):
            self._check_ref(field)

    def _check_ref(self, field: str) -> None:
        ref = getattr(self, field)
        absent_is_fine = ref is None and field in self.optional_refs
        if absent_is_fine or callable(ref) or (isinstance(ref, str) and _REF.match(ref)):
            return
        raise self.invalid(f"{field} is {ref!r}, expected 'module:attr' or a callable")

    def invalid(self, why: str) -> TileError:
        """Return the error for a malformed field (E0902); `why` completes the sentence."""
        return TileError(
            "E0902",
            f"{type(self).__name__}: {why}",
            help="mend the manifest; its fields are documented in tile_ir.manifests",
        )

    def factories(self) -> dict[str, Ref]:
        """Return the given factories by field name, unresolved."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        wanted = (*self.refs, *self.optional_refs)
        return {name: named[name] for name in wanted if named[name] is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetManifest(Manifest):
    """A code generation target.

    * `specs()` returns the folder (a `pathlib.Path`) of the target's descriptions, one YAML file
      for each architecture; `tile_ir.target.find_spec` reads it.
    * `pipeline(default)` returns the default pipeline with the target's edits.
    * `emit(module, spec)` returns source text and entry points; pure, needs no device.
    * `toolchain(spec)` returns the compiler for that description.
    * `runtime(spec)` returns what loads and launches; the only part that may need a device.
    * `host_arch()` returns the architecture at hand, for a target string without `-arch`.
    * `emulate(spec)` returns a `tile_ir.emulation.Emulation`: how artifacts run with no device.
    * `export(spec)` returns a `tile_passes.launch.exported.Exporter`: what becomes of kernels in
      libraries that run without these packages.
    * `tables()` returns the folder (a `pathlib.Path`) of tuned configurations for its devices; the
      tuner looks there after all other places.
    * `memory` names the kinds of memory that its kernels work on as array libraries call them; left
      out, it is the target's own name.
    * `rank` orders the targets that fit a machine: of several, the lowest is the default.
    """

    refs: ClassVar[tuple[str, ...]] = ("specs", "pipeline", "emit", "toolchain", "runtime")
    optional_refs: ClassVar[tuple[str, ...]] = (
        "host_arch",
        "emulate",
        "export",
        "tables",
    )

    specs: Ref
    pipeline: Ref
    emit: Ref
    toolchain: Ref
    runtime: Ref
    host_arch: Ref | None = None
    emulate: Ref | None = None
    export: Ref | None = None
    tables: Ref | None = None
    memory: tuple[str, ...] = ()
    rank: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceManifest(Manifest):
    """Something that builds and runs artifacts in the place of the target's toolchain and runtime.

    `factory(manifest, spec)` takes a target's manifest and description and returns an object that
    has the methods of a toolchain and of a runtime, and `memory`, the kind of memory that its
    kernels work on. `targets` names the targets it can stand in for, or is empty when it takes any
    target whose manifest has `emulate`.
    """

    refs: ClassVar[tuple[str, ...]] = ("factory",)

    factory: Ref
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassManifest(Manifest):
    """A pass, and the place in the pipeline that it asks for.

    `factory()` returns the pass. It joins `phase`, after every pass named in `after` and before
    every pass named in `before`; with neither it closes the phase. `targets` limits it to some.
    """

    refs: ClassVar[tuple[str, ...]] = ("factory",)

    factory: Ref
    phase: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # The zero-argument super() has no class cell to look in: slots=True made a new class.
        Manifest.__post_init__(self)
        if not _NAME.match(str(self.phase)):
            raise self.invalid(f"phase {self.phase!r} is not a phase name")
        both = set(self.before) & set(self.after)
        if both:
            raise self.invalid(f"asks to run before and after {', '.join(sorted(both))}")
        if self.name in (*self.before, *self.after):
            raise self.invalid("asks to run before or after itself")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpManifest(Manifest):
    """A family of ops: `factory()` declares and returns the op classes, with their oracle rules."""

    refs: ClassVar[tuple[str, ...]] = ("factory",)

    factory: Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class TunerManifest(Manifest):
    """A search strategy: `factory(space, seed)` returns the searcher."""

    refs: ClassVar[tuple[str, ...]] = ("factory",)

    factory: Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandManifest(Manifest):
    """A command of `tile`: `factory(parser)` adds its options to an `argparse.ArgumentParser`, and
    the default `run`, a function of the parsed options that returns a `tile_ir.exit_status`. The
    description is its line of help.
    """

    refs: ClassVar[tuple[str, ...]] = ("factory",)

    factory: Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectManifest(Manifest):
    """Names that the tile language has for one family of devices.

    `names` are the names, and `lookup(name)` returns what a program gets that writes one of them
    behind the language's own module. Only a name that is asked for loads the dialect.
    """

    refs: ClassVar[tuple[str, ...]] = ("lookup",)

    lookup: Ref
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        Manifest.__post_init__(self)
        bad = [name for name in self.names if not name.isidentifier()]
        if bad or not self.names:
            raise self.invalid(f"names holds {bad[0]!r}" if bad else "names is empty")
