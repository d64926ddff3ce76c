"""A page run from top to bottom: its programs in one namespace, its commands in one folder."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import shlex
from pathlib import Path
from typing import Any

from tile_frontend import cli
from tile_ir.testing.by_path import module_at

walker = module_at(Path(__file__).with_name("walker.py"))


def run_page(page: Path, folder: Path) -> int:
    """Run every block of a page that is run; return how many there were.

    Raises AssertionError where a page shows what is not printed, and whatever its programs raise.
    """
    name = re.sub(r"\W+", "_", page.stem)
    space: dict[str, Any] = {"__name__": name}
    printed, ran, status = "", 0, 0
    found = walker.blocks(page.read_text("utf-8"))
    files = [b for b in found if b.kind == "python" and b.title.endswith(".py")]
    for block in files:  # first: a page may use them before it shows them
        (folder / block.title).write_text(block.text, "utf-8")
    for block in found:
        if block.is_program:
            printed = _run(block, folder / f"{name}.py", space)
        elif block.kind == "output":
            lacks = walker.missing(printed, block.text.splitlines())
            assert lacks is None, f"line {block.line}: {lacks!r} is not printed:\n{printed}"
        elif block.kind == "console":
            for command, lines in walker.commands(block.text):
                status = _run_command(command, lines, status)
        else:
            continue
        ran += 1
    assert status == 0, f"the last command of {page} failed and the page does not show it"
    return ran


def _run(block: Any, path: Path, space: dict[str, Any]) -> str:
    """Run a program with its lines numbered as on the page, in a file where kernels find their
    source; return what it prints."""
    before = path.read_text("utf-8") if path.exists() else ""
    padding = "\n" * (block.line - 1 - before.count("\n"))
    path.write_text(before + padding + block.text, "utf-8")
    linecache.checkcache(str(path))
    code = compile("\n" * (block.line - 1) + block.text, str(path), "exec", dont_inherit=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, space)  # the page is ours
    return printed.getvalue()


def _run_command(command: str, lines: list[str], status: int) -> int:
    """Run a command of ours in this process and compare; return its exit status."""
    if command == "echo $?":
        assert lines == [str(status)], f"the status is {status}"
        return 0
    assert status == 0, f"the command before {command!r} failed"
    program, *words = shlex.split(command)
    assert program == "tile", f"{command!r} is not run here: its block is `sh`"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = int(cli.main(words))
    lacks = walker.missing(printed.getvalue(), lines)
    assert lacks is None, f"{command}: {lacks!r} is not printed:\n{printed.getvalue()}"
    return status
