"""From a traced function to something that can be called: pipeline, emission, toolchain, cache,
runtime.

Everything about the device is behind the target's plugin; this file only puts the steps in order. A
kernel found in the cache runs none of them but the last.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import tile_ir
import tile_passes
from tile_frontend import cache as disk
from tile_frontend import knobs
from tile_frontend._version import __version__
from tile_frontend.beside import beside, checks_first
from tile_ir.diag import InternalError
from tile_ir.plugin import discover, resolve
from tile_ir.text import print_function
from tile_ir.verify import check, verify
from tile_passes.base import PassContext, State
from tile_passes.manager import run_pipeline
from tile_passes.plan.model import Candidate, Decision, Plan
from tile_passes.plan.pins import check_pins
from tile_passes.registry import with_third_party

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tile_frontend.target_select import Target
    from tile_ir.core import Function
    from tile_ir.target import TargetSpec
    from tile_passes.manager import Check
    from tile_passes.pipeline import Pipeline

_LOG = logging.getLogger("tile")
_LIBRARY = "kernel"
_SOURCE = "source"
_BUILT = (".pyc", ".pyo")
"""Suffixes of the files of a package that decide nothing: Python made them from others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a runtime needs to know of an artifact, as the cache keeps it."""

    entry: str
    signature: tuple[str, ...]
    alignments: tuple[int, ...]
    """Bytes that the address of each parameter has to be a multiple of; empty where any will do."""
    pitches: tuple[int, ...]
    """Bytes that the strides of each parameter have to be multiples of, likewise."""
    kernels: tuple[str, ...]
    strict: bool
    source: str
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A loaded kernel.

    `launch` takes what `artifact.signature` says; `seconds` is what each step took.
    """

    artifact: Stored
    launch: Callable[..., None]
    source_path: Path
    library_path: Path
    cached: bool
    seconds: Mapping[str, float] = field(default_factory=dict)


class _Key:
    """A kernel being compiled by a thread of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()


_keys: WeakValueDictionary[str, _Key] = WeakValueDictionary()
_keys_lock = threading.Lock()


@contextmanager
def _alone(key: str) -> Iterator[None]:
    """Threads of this process build a kernel once: the others find what the first has made."""
    with _keys_lock:
        mine = _keys.setdefault(key, _Key())
    with mine.lock:
        yield


def _loaded(
    key: str,
    make: Callable[[Path], Mapping[str, Any]],
    runtime: Callable[[], Any],
    suffix: str,
) -> tuple[disk.Entry, Stored, Callable[..., None], bool, float]:
    """The entry, what it says, its kernel in this process, whether it was there, and the seconds
    of loading it."""
    attempts = 3
    while True:
        attempts -= 1
        entry = disk.find(key)
        cached = entry is not None
        if entry is None:
            entry = disk.build(key, make)
        start = perf_counter()
        try:
            artifact = _restored(entry)
            launch = runtime().load(artifact, entry.file(_LIBRARY + suffix))
        except Exception:
            # Another process may have made room in the cache before this had it loaded.
            if attempts == 0 or entry.folder.exists():
                disk.drop(entry)  # what cannot be loaded must not be found again
                raise
            continue
        return entry, artifact, launch, cached, perf_counter() - start


def compile_function(
    fn: Function,
    target: Target,
    pins: Mapping[str, Any] | None = None,
    flags: Sequence[str] = (),
) -> Compiled:
    """Compile `fn` for `target`, or find it in the cache, and load it.

    Raises `TileError` for what the verifier, a pass, the toolchain or the runtime refuses.
    """
    seconds: dict[str, float] = {}
    start = perf_counter()
    toolchain, runtime = _tools(target)
    key = _key(fn, target, pins, flags, toolchain)
    seconds["key"] = perf_counter() - start

    def make(folder: Path) -> dict[str, Any]:
        compiler = partial(toolchain.compile, flags=tuple(flags)) if flags else toolchain.compile
        made = _make(folder, fn, target, pins, toolchain, compiler, seconds)
        return {**made, "name": fn.name, "target": str(target), "seconds": sum(seconds.values())}

    with _alone(key):
        entry, artifact, launch, cached, seconds["load"] = _loaded(
            key, make, runtime, toolchain.suffix
        )
    if knobs.verbose():
        _LOG.warning("%s for %s: %s", fn.name, target, _times(seconds, cached))
    return Compiled(
        artifact=artifact,
        launch=launch,
        source_path=entry.file(entry.meta["source"]),
        library_path=entry.file(_LIBRARY + toolchain.suffix),
        cached=cached,
        seconds=seconds,
    )


def is_built(
    fn: Function,
    target: Target,
    pins: Mapping[str, Any] | None = None,
    flags: Sequence[str] = (),
) -> bool:
    """Whether the cache on disk has what `compile_function` would make."""
    key = _key(fn, target, pins, flags, _tools(target)[0])
    return not knobs.cache_disabled() and (knobs.cache_dir() / key).exists()


def _key(
    fn: Function,
    target: Target,
    pins: Mapping[str, Any] | None,
    flags: Sequence[str],
    toolchain: Any,
) -> str:
    """The name of the entry in the cache."""
    return disk.key_of(
        print_function(fn),
        repr(sorted((pins or {}).items())),
        repr(tuple(flags)),
        _described(target.spec),
        toolchain.fingerprint(fn.numerics == "strict"),
        *(_versions(target.manifest.name) or (str(pipeline_of(target)),)),
    )


def lowered(
    fn: Function,
    target: Target,
    pins: Mapping[str, Any] | None = None,
    later: list[Check] | None = None,
) -> tuple[Any, dict[str, float]]:
    """Run pipeline and emission only: the artifact and the seconds of each step. Needs no device
    and no toolchain. What only checks goes into `later`, where that is given, and is the caller's
    to run.
    """
    start = perf_counter()
    pipeline = pipeline_of(target)
    emit = resolve(target.manifest.emit)
    loaded = perf_counter()
    check(fn)
    checked = perf_counter()
    context = PassContext(target=target.spec, pins=pins or {})
    checks: list[Check] = []
    with checks_first(checks):
        state = _run(pipeline, fn, context, checks)
        if pins:
            check_pins(state.function, context, state.plan)
        passed = perf_counter()
        artifact = emit(state.function, target.spec, state.plan)
    if later is None:
        for check_now in checks:
            check_now()
    else:
        later.extend(checks)
    done = perf_counter()
    return artifact, {
        "import": loaded - start,
        "verify": checked - loaded,
        "passes": passed - checked,
        "emit": done - passed,
    }


def _tools(target: Target) -> tuple[Any, Callable[[], Any]]:
    """The toolchain, and what makes the runtime; a device that stands in for another is both."""
    manifest = target.manifest
    if target.stand_in is not None:
        device = resolve(target.stand_in.factory)(manifest, target.spec)
        return device, lambda: device
    toolchain = resolve(manifest.toolchain)(target.spec)
    return toolchain, lambda: resolve(manifest.runtime)(target.spec)


def _run(pipeline: Pipeline, fn: Function, context: PassContext, checks: list[Check]) -> State:
    """Run the passes; what only checks goes into `checks`, with a verification of what the last
    one leaves: to verify after each takes nearly as long as the passes. Where something is wrong
    they run again so, to say which of them it was.
    """
    start = State(function=fn)
    try:
        state = run_pipeline(pipeline, start, context, verify_each=False, later=checks).state
    except InternalError as error:
        run_pipeline(pipeline, start, context)
        raise error

    def verified() -> None:
        if verify(state.function):
            run_pipeline(pipeline, start, context)
            raise InternalError("E9002", "the passes left a program that does not verify")

    checks.append(verified)
    return state


def pipeline_of(target: Target) -> Pipeline:
    """The passes of a target, with those of other distributions."""
    made: Pipeline = resolve(target.manifest.pipeline)(None)
    return with_third_party(made, target.manifest.name)


def _make(
    folder: Path,
    fn: Function,
    target: Target,
    pins: Mapping[str, Any] | None,
    toolchain: Any,
    compiler: Callable[[Any, Path], None],
    seconds: dict[str, float],
) -> dict[str, Any]:
    checks: list[Check] = []
    artifact, steps = lowered(fn, target, pins, checks)
    seconds.update(steps)
    source = _SOURCE + getattr(toolchain, "source_suffix", ".c")
    (folder / source).write_text(artifact.source, "utf-8")
    start = perf_counter()
    with beside(checks):
        compiler(artifact, folder / (_LIBRARY + toolchain.suffix))
    seconds["toolchain"] = perf_counter() - start
    return {
        "source": source,
        "entry": artifact.entry,
        "signature": list(artifact.signature),
        "alignments": list(getattr(artifact, "alignments", ())),
        "pitches": list(getattr(artifact, "pitches", ())),
        "kernels": list(artifact.kernels),
        "strict": artifact.strict,
        "plan": [asdict(d) for d in artifact.plan],
    }


def _restored(entry: disk.Entry) -> Stored:
    meta = entry.meta
    return Stored(
        entry=meta["entry"],
        signature=tuple(meta["signature"]),
        alignments=tuple(meta.get("alignments", ())),
        pitches=tuple(meta.get("pitches", ())),
        kernels=tuple(meta["kernels"]),
        strict=meta["strict"],
        source=entry.file(meta["source"]).read_text("utf-8"),
        plan=Plan(tuple(_decision(d) for d in meta["plan"])),
    )


def _decision(data: Mapping[str, Any]) -> Decision:
    candidates = tuple(
        Candidate(_tupled(c["value"]), c["cost"], c["reason"]) for c in data["candidates"]
    )
    return Decision(
        key=data["key"],
        value=_tupled(data["value"]),
        by=data["by"],
        reason=data["reason"],
        candidates=candidates,
    )


def _tupled(value: Any) -> Any:
    """JSON has lists where a Plan has tuples."""
    return tuple(_tupled(v) for v in value) if isinstance(value, (list, tuple)) else value


def _described(spec: TargetSpec) -> str:
    """A description as text that is the same in every process: a set's own order is not."""
    values = (getattr(spec, f.name) for f in fields(spec))
    return repr([sorted(v) if isinstance(v, frozenset) else v for v in values])


@cache
def _versions(target: str) -> tuple[str, ...]:
    """What makes equal programs compile differently: versions, and the files of the packages at
    work. They determine the pipeline, so that finding a kernel imports no pass.

    Empty for a target that is no installed plugin.
    """
    entry = next((e for e in discover("tile.targets") if e.name == target), None)
    if entry is None:
        return ()
    own = __import__(entry.value.partition(":")[0].partition(".")[0])
    packages = (tile_ir.__file__, tile_passes.__file__, own.__file__ or "")
    passes = (f"{e.name} {e.origin}" for e in discover("tile.passes"))
    return (
        f"frontend {__version__}",
        entry.origin,
        *passes,
        *(_stamp(Path(p).parent) for p in packages),
    )


def _stamp(folder: Path) -> str:
    """Size and time of every file, so that an edited checkout never meets kernels of its
    former self.
    """
    facts = sorted((f.path, f.stat()) for f in _files(str(folder)))
    return disk.key_of(
        *(f"{path[len(str(folder)) :]} {s.st_size} {s.st_mtime_ns}" for path, s in facts)
    )


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    """The files that decide something, in folders below too: a listing, not objects of paths, since
    every process waits for it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif not entry.name.endswith(_BUILT) and entry.is_file():
                yield entry


def _times(seconds: Mapping[str, float], cached: bool) -> str:
    steps = ", ".join(f"{k} {v * 1e3:.1f} ms" for k, v in seconds.items())
    return f"{'from the cache' if cached else 'compiled'} ({steps})"
