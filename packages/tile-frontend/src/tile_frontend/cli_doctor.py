"""`tile doctor`: what is installed, what works here, what to install. `tile targets`: what can be
compiled for, and which of it is at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.cli_output import Table, show
from tile_frontend.target_select import absent_targets, installed, presence, select
from tile_ir.diag import TileError
from tile_ir.exit_status import ExitStatus
from tile_ir.plugin import discover, doctor_report, load, resolve
from tile_ir.target import TargetRequest, find_spec, spec_files

if TYPE_CHECKING:
    import argparse


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tile doctor`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_doctor)


def add_targets(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tile targets`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_targets)


def _doctor(options: argparse.Namespace) -> ExitStatus:
    report = doctor_report()
    plugins = [_plugin(status) for status in report.plugins]
    absent = {n: f'pip install "tile-frontend[{n}]"' for n in absent_targets()}
    document = {
        "python": report.python,
        "platform": report.platform,
        "packages": dict(report.packages),
        "plugins": plugins,
        "absent": absent,
        "default": _default_target(),
    }
    lines = [f"python    {report.python} on {report.platform}"]
    lines += [f"package   {name} {version}" for name, version in report.packages]
    for plugin in plugins:
        lines += _plugin_lines(plugin)
    lines += [f"absent    {name}: {command}" for name, command in absent.items()]
    show(options.json, document, *lines, f"default   {document['default']}")
    return ExitStatus.DONE if report.ok else ExitStatus.FOUND


def _plugin(status: Any) -> dict[str, Any]:
    entry, manifest = status.entry, status.manifest
    told = {
        "kind": entry.group.removeprefix("tile.").removesuffix("s"),
        "name": entry.name,
        "origin": entry.origin,
        "description": getattr(manifest, "description", ""),
        "error": status.error.message if status.error is not None else None,
    }
    if status.error is None and entry.group == "tile.targets":
        told |= _here(manifest)
    return told


def _here(manifest: Any) -> dict[str, str]:
    """What a target finds here: a device to run on, a compiler for its first description."""
    found = presence(manifest)
    told = {"runs": found.arch or ": ".join(p for p in ("no", found.why, found.help) if p)}
    if manifest.status != "planned":
        told["compiles"] = _compiler(manifest, found.arch)
    return told


def _plugin_lines(plugin: dict[str, Any]) -> list[str]:
    note = plugin["description"] if plugin["error"] is None else "BROKEN"
    lines = [f"{plugin['kind']:<9} {plugin['name']} ({plugin['origin']}) {note}".rstrip()]
    if plugin["error"] is not None:
        lines.append(f"          {plugin['error']}")
    return lines + [f"          {n} here: {plugin[n]}" for n in ("runs", "compiles") if n in plugin]


def _compiler(manifest: Any, arch: str | None) -> str:
    try:
        described = arch or min(spec_files(manifest))
        request = TargetRequest(name=manifest.name, arch=described)
        toolchain = resolve(manifest.toolchain)(find_spec(manifest, request))
        return str(toolchain.fingerprint()).split(" -")[0]  # without its options
    except TileError as error:
        return f"no: {error.message}" + (f": {error.help}" if error.help else "")


def _default_target() -> str:
    try:
        return str(select())
    except TileError as error:
        return f"none: {error.message}"


def _targets(options: argparse.Namespace) -> ExitStatus:
    found = [_target(m, name) for m, name in installed()]
    devices = []
    for entry in discover("tile.devices"):
        stand_in = load("tile.devices", entry.name)
        devices.append(
            {
                "name": entry.name,
                "description": stand_in.description,
                "targets": list(stand_in.targets),
            }
        )
    document = {"targets": found, "devices": devices, "default": _default_target()}
    rows = [(t["name"], t["here"] or "-", ", ".join(t["architectures"])) for t in found]
    table = Table(head=("target", "here", "architectures"), rows=rows)
    notes = [f"{t['name']}: {t['note']}" for t in found if t["note"]]
    others = [f"device {d['name']}: {d['description']}" for d in devices]
    show(options.json, document, table, *notes, *others, f"default: {document['default']}")
    return ExitStatus.DONE if all(t["usable"] for t in found) else ExitStatus.FOUND


def _target(manifest: Any, name: str) -> dict[str, Any]:
    if manifest is None:
        broken, _, why = name.partition(": ")
        return {"name": broken, "here": None, "architectures": [], "note": why, "usable": False}
    found = presence(manifest)
    note = found.why if found.arch is None else ""
    return {
        "name": name,
        "description": manifest.description,
        "here": found.arch,
        "architectures": sorted(spec_files(manifest)),
        "note": f"{note} ({found.help})" if found.help else note,
        "usable": True,
    }
