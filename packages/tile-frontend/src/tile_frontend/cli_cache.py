"""`tile cache`: what is kept, where, and how to prune it or carry it elsewhere."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend import knobs

if TYPE_CHECKING:
    import argparse

__all__ = ["add_cache_commands"]


def add_cache_commands(commands: Any) -> None:
    """Add the command and its own commands to those of `tile`."""
    cache = commands.add_parser("cache", help="list, prune, export or import compiled kernels")
    inner = cache.add_subparsers(required=True)
    ls = inner.add_parser("ls", help="list the compiled kernels")
    ls.add_argument("text", nargs="?", default="", help="a kernel's name, a target, or a key")
    ls.set_defaults(run=_ls)
    show = inner.add_parser("show", help="everything that is stored with one")
    show.add_argument("key", help="the first letters of its key")
    show.set_defaults(run=_show)
    prune = inner.add_parser("prune", help="remove those that were not used for longest")
    prune.add_argument("--keep-mb", type=float, default=0.0, help="megabytes to keep (default 0)")
    prune.set_defaults(run=_prune)
    export = inner.add_parser("export", help="write kernels into an archive")
    export.add_argument("file", type=Path)
    export.add_argument("keys", nargs="*", help="the first letters of keys (default: all)")
    export.set_defaults(run=_export)
    import_ = inner.add_parser("import", help="take kernels over from an archive that you trust")
    import_.add_argument("file", type=Path)
    import_.set_defaults(run=_import)
    for one in (ls, show, prune, export, import_):
        one.add_argument("--json", action="store_true", help="print JSON")


def _commands() -> Any:
    from tile_frontend import cache_commands  # only this command needs zip and SQLite

    return cache_commands


def _ls(options: argparse.Namespace) -> int:
    found = _commands().entries(options.text)
    if options.json:
        print(json.dumps([asdict(row) for row in found]))
        return 0
    for row in found:
        made = datetime.fromtimestamp(row.made).strftime("%Y-%m-%d %H:%M")
        print(f"{row.key[:12]}  {row.bytes / 1e3:8.1f} kB  {made}  {row.name}  {row.target}")
    total = sum(row.bytes for row in found)
    limit = knobs.cache_limit_bytes() / 1e6
    print(f"{len(found)} kernels, {total / 1e6:.1f} of {limit:.0f} MB in {knobs.cache_dir()}")
    return 0


def _show(options: argparse.Namespace) -> int:
    row, meta = _commands().entry(options.key)
    if options.json:
        print(json.dumps({**asdict(row), "meta": meta}))
        return 0
    print(
        f"{row.name} for {row.target}\nkey       {row.key}\nfolder    {knobs.cache_dir() / row.key}"
    )
    print(f"size      {row.bytes / 1e3:.1f} kB, made in {row.seconds:.2f} s")
    for name in sorted(meta["files"]):
        print(f"file      {name}")
    for decision in meta.get("plan", ()):
        print(f"decision  {decision['key']} = {decision['value']}")
    return 0


def _prune(options: argparse.Namespace) -> int:
    return _keys(_commands().prune(int(options.keep_mb * 1e6)), "removed", options.json)


def _export(options: argparse.Namespace) -> int:
    return _keys(_commands().export_entries(options.file, options.keys), "exported", options.json)


def _import(options: argparse.Namespace) -> int:
    return _keys(_commands().import_entries(options.file), "imported", options.json)


def _keys(keys: list[str], what: str, as_json: bool) -> int:
    print(json.dumps(keys) if as_json else f"{what} {len(keys)} kernels")
    return 0
