"""`tile cache`: what is kept, where, and how to prune it or carry it elsewhere."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend import knobs
from tile_frontend.cli_output import Table, show
from tile_ir.exit_status import ExitStatus

if TYPE_CHECKING:
    import argparse

__all__ = ["add"]


def add(cache: argparse.ArgumentParser) -> None:
    """Add the commands on the cache."""
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


def _ls(options: argparse.Namespace) -> ExitStatus:
    found = _commands().entries(options.text)
    rows = [
        (
            row.key[:12],
            f"{row.bytes / 1e3:.1f} kB",
            datetime.fromtimestamp(row.made).strftime("%Y-%m-%d %H:%M"),
            row.name,
            row.target,
        )
        for row in found
    ]
    total, limit = sum(row.bytes for row in found) / 1e6, knobs.cache_limit_bytes() / 1e6
    summary = f"{len(found)} kernels, {total:.1f} of {limit:.0f} MB in {knobs.cache_dir()}"
    table = [Table(head=("key", "size", "made", "kernel", "target"), rows=rows)] if rows else []
    show(options.json, [asdict(row) for row in found], *table, summary)
    return ExitStatus.DONE


def _show(options: argparse.Namespace) -> ExitStatus:
    row, meta = _commands().entry(options.key)
    lines = [
        f"{row.name} for {row.target}",
        f"key       {row.key}",
        f"folder    {knobs.cache_dir() / row.key}",
        f"size      {row.bytes / 1e3:.1f} kB, made in {row.seconds:.2f} s",
        *(f"file      {name}" for name in sorted(meta["files"])),
        *(f"decision  {d['key']} = {d['value']}" for d in meta.get("plan", ())),
    ]
    show(options.json, {**asdict(row), "meta": meta}, *lines)
    return ExitStatus.DONE


def _prune(options: argparse.Namespace) -> ExitStatus:
    return _keys(_commands().prune(int(options.keep_mb * 1e6)), "removed", options.json)


def _export(options: argparse.Namespace) -> ExitStatus:
    return _keys(_commands().export_entries(options.file, options.keys), "exported", options.json)


def _import(options: argparse.Namespace) -> ExitStatus:
    return _keys(_commands().import_entries(options.file), "imported", options.json)


def _keys(keys: list[str], what: str, as_json: bool) -> ExitStatus:
    show(as_json, keys, f"{what} {len(keys)} kernels")
    return ExitStatus.DONE
