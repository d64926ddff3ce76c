"""`tile compile`: a kernel's source, program or decisions, on the terminal or in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend.cli_kernels import add_kernel, arguments_of, built, kernel_at, of_user
from tile_frontend.cli_output import show
from tile_frontend.report import explain
from tile_ir.core import Module
from tile_ir.exit_status import ExitStatus
from tile_ir.text import print_module

if TYPE_CHECKING:
    import argparse

    from tile_frontend.kernel import JITKernel


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_kernel(parser)
    parser.add_argument("--show", choices=("source", "ir", "plan"), default="source")
    parser.add_argument("-o", "--output", type=Path, help="write it here instead")
    parser.add_argument(
        "--format",
        choices=("text", "c", "so", "wheel"),
        default="text",
        help="what to write: the text that --show names, or an export (see `kernel.export`)",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> ExitStatus:
    with of_user(options.json):
        document, text = _compiled(options)
    show(options.json, document, text)
    return ExitStatus.DONE


def _compiled(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """What there is to say, as a document and for people."""
    found, arguments = kernel_at(options.kernel), arguments_of(options)
    if options.show == "ir" and options.format == "text":  # it needs no target
        func = found.get_tir(**arguments) if hasattr(found, "get_tir") else found
        text = print_module(Module(functions=(func.function,)))  # as `tile opt` reads it
        return _text(options, text, {"name": func.function.name})
    kernel = built(found, arguments, options.target, options.device)
    if options.format != "text":
        place = options.output or Path(f"{kernel.function.name}_{options.format}")
        made = kernel.export(place, format=options.format)
        return {**_about(kernel), "files": [str(made)]}, f"wrote {made}"
    text = kernel.kernel_source if options.show == "source" else explain(kernel.plan)
    return _text(options, text, _about(kernel))


def _text(
    options: argparse.Namespace, text: str, about: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    if options.output is None:
        return {**about, options.show: text}, text.rstrip("\n")
    options.output.write_text(f"{text.rstrip()}\n", "utf-8")
    return {**about, "files": [str(options.output)]}, f"wrote {options.output}"


def _about(kernel: JITKernel) -> dict[str, Any]:
    return {
        "name": kernel.function.name,
        "target": str(kernel.target),
        "cached": kernel.compiled.cached,
        "seconds": dict(kernel.timings),
        "key": kernel.compiled.library_path.parent.name,
    }
