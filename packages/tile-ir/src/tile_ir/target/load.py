"""Target descriptions from YAML files: one file for each architecture of a target.

A description may say `extends: NAME` to start from its neighbour NAME.yaml and state only the
differences; mappings are merged key by key, everything else is replaced.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir.diag import Span, TileError
from tile_ir.target.spec import TargetSpec
from tile_ir.typed_yaml import Table, merge, parse, read

if TYPE_CHECKING:
    import os

    from yaml.nodes import MappingNode

    from tile_ir.plugin import TargetManifest
    from tile_ir.target.request import TargetRequest

__all__ = ["find_spec", "load_spec", "spec_files"]


def load_spec(source: str | os.PathLike[str]) -> TargetSpec:
    """Return the description in a YAML file, or in YAML text (a string of several lines).

    Raises `TileError` E0910 (unreadable), E0911 to E0914 (content, at its line). Cached by path,
    time and size.
    """
    if isinstance(source, str) and "\n" in source:
        return _from_text(source)
    path = Path(source)
    try:
        stat = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    return _from_file(path, stat.st_mtime_ns, stat.st_size)


def _unreadable(path: Path, error: OSError) -> TileError:
    return TileError(
        "E0910",
        f"target description {path} cannot be read: {error.strerror}",
        help="give the path of a readable YAML file; `extends: NAME` reads NAME.yaml beside it",
    )


@lru_cache(maxsize=64)
def _from_text(text: str) -> TargetSpec:
    return read(parse(text, "<target description>"), TargetSpec)


@lru_cache(maxsize=64)
def _from_file(path: Path, mtime_ns: int, size: int) -> TargetSpec:
    return read(_tree(path, ()), TargetSpec)


def _tree(path: Path, seen: tuple[Path, ...]) -> MappingNode:
    """Return the file's tree with everything that it extends already below it."""
    try:
        node = parse(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise _unreadable(path, error) from error
    bases = [value for key, value in node.value if key.value == "extends"]
    if not bases:
        return node
    base = path.with_name(f"{bases[0].value}.yaml")
    if base in (*seen, path):
        raise TileError(
            "E0913",
            "descriptions extend each other",
            Span(str(path), bases[0].start_mark.line + 1),
            help=f"remove `extends` from one of {', '.join(p.name for p in (*seen, path))}",
        )
    node.value = [(key, value) for key, value in node.value if key.value != "extends"]
    return merge(_tree(base, (*seen, path)), node)


def spec_files(manifest: TargetManifest) -> Table[Path]:
    """Return the target's descriptions: architecture or alias -> file. Reads every file once."""
    from tile_ir.plugin import resolve

    folder: Path = resolve(manifest.specs)()
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*.yaml")):
        spec = load_spec(path)
        found.update(dict.fromkeys((spec.arch, *spec.aliases), path))
    return Table(found)


def find_spec(manifest: TargetManifest, request: TargetRequest) -> TargetSpec:
    """Return the description that `request` asks for; without `arch`, that of the host.

    Raises `TileError` E0916 for an unknown architecture, or when none can be found out.
    """
    from tile_ir.plugin import resolve

    arch = request.arch
    if arch is None and manifest.host_arch is not None:
        arch = resolve(manifest.host_arch)()
    if arch is not None:
        # Usually the file is named after its architecture; only an alias needs the others read.
        path = resolve(manifest.specs)() / f"{arch}.yaml"
        if path.is_file() and load_spec(path).arch == arch:
            return load_spec(path)
    files = spec_files(manifest)
    if arch is not None and arch in files:
        return load_spec(files[arch])
    what = f"has no architecture {arch!r}" if arch else "needs an architecture"
    known = ", ".join(files) or "none"
    raise TileError(
        "E0916",
        f"target {request.name!r} {what}",
        notes=(f"described: {known}",),
        help=f"write '{request.name} -arch=NAME' with one of these",
    )
