"""The command `tile`: doctor (what is installed and works), compile (a kernel's source), explain
(an error code), cache (the compiled kernels on disk).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend.cli_cache import add_cache_commands
from tile_frontend.target_select import absent_targets, presence, select
from tile_ir.codes import catalogue
from tile_ir.diag import InternalError, TileError
from tile_ir.plugin import doctor_report, resolve
from tile_ir.target import TargetRequest, find_spec, spec_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (by default the process's) and return its exit status: 0, or 1
    after an error.
    """
    options = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except (TileError, InternalError) as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tile", description=__doc__)
    commands = parser.add_subparsers(required=True)
    doctor = commands.add_parser("doctor", help="show what is installed and what is wrong with it")
    doctor.set_defaults(run=_doctor)
    explain = commands.add_parser("explain", help="explain a diagnostic code")
    explain.add_argument("code", help="as in E1401")
    explain.set_defaults(run=_explain)
    add_cache_commands(commands)
    compile_ = commands.add_parser("compile", help="print a kernel's source, program or decisions")
    compile_.add_argument("kernel", help="FILE.py:NAME, a @tile.jit function or a @T.prim_func")
    compile_.add_argument("--target", help='as in "cpu -arch=x86-64-v4"')
    compile_.add_argument("--show", choices=("source", "ir", "plan"), default="source")
    compile_.add_argument(
        "arguments", nargs="*", metavar="NAME=VALUE", help="Python arguments and T.const dimensions"
    )
    compile_.set_defaults(run=_compile)
    return parser


def _doctor(options: argparse.Namespace) -> int:
    report = doctor_report()
    print(f"python    {report.python} on {report.platform}")
    for name, version in report.packages:
        print(f"package   {name} {version}")
    for status in report.plugins:
        entry = status.entry
        kind = entry.group.removeprefix("tile.").removesuffix("s")
        note = getattr(status.manifest, "description", "") if status.error is None else "BROKEN"
        print(f"{kind:<9} {entry.name} ({entry.origin}) {note}".rstrip())
        if status.error is not None:
            print(f"          {status.error.message}")
        elif entry.group == "tile.targets":
            for line in _target_lines(status.manifest):
                print(f"          {line}")
    for name in absent_targets():
        print(f'absent    {name}: pip install "tile-frontend[{name}]"')
    print(f"default   {_default_target()}")
    return 0 if report.ok else 1


def _target_lines(manifest: Any) -> list[str]:
    """What a target finds here: a device to run on, a compiler for its first description."""
    found = presence(manifest)
    where = found.arch or ": ".join(part for part in ("no", found.why, found.help) if part)
    if manifest.status == "planned":
        return [f"runs here: {where}"]
    return [f"runs here: {where}", f"compiles here: {_compiler(manifest, found.arch)}"]


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


def _explain(options: argparse.Namespace) -> int:
    code = options.code.upper()
    known = catalogue()
    if code not in known:
        area = [c for c in known if c.startswith(code[:3])]
        print(f"there is no code {code}; near it: {', '.join(area) or 'none'}", file=sys.stderr)
        return 1
    title, text = known[code]
    print(f"{code}: {title}\n\n{text}")
    return 0


def _compile(options: argparse.Namespace) -> int:
    from tile_frontend import jit_function as jit  # only this command traces

    found = _load(options.kernel)
    arguments = dict(_argument(a) for a in options.arguments)
    func = found.get_tir(**arguments) if isinstance(found, jit.JITImpl) else found
    if options.show == "ir":
        print(func.script(), end="")
        return 0
    out_idx = found.options.out_idx if isinstance(found, jit.JITImpl) else None
    kernel = jit.compile(func, out_idx=out_idx, target=options.target)
    if options.show == "plan":
        kernel.explain()
    else:
        print(kernel.get_kernel_source(), end="")
    return 0


def _load(place: str) -> Any:
    path, _, name = place.rpartition(":")
    if not path or not Path(path).is_file():
        raise TileError("E1116", f"{place!r} is no kernel", help="write it as FILE.py:NAME")
    spec = importlib.util.spec_from_file_location("tile_kernel_file", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        names = sorted(n for n in vars(module) if not n.startswith("_"))
        raise TileError("E1116", f"{path} has no {name!r}", help=f"it has {', '.join(names)}")
    return getattr(module, name)


def _argument(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, {"True": True, "False": False, "true": True, "false": False}.get(value, value)
