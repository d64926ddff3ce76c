"""The examples of docs/command-line.md, run one after the other in one folder, say what the page
says: each line of output that it shows, `...` for any text, in that order."""

import re
import shlex
from pathlib import Path

import pytest

from tile_frontend import cli

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^## ", re.MULTILINE)
LIBRARIES = {"tile completion": "argcomplete", "tile tune": "tile_tune"}


def page():
    return (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")


def commands_of(text):
    """The commands of a section, each with the lines that are shown below it."""
    found = []
    for language, body in BLOCK.findall(text):
        for line in body.splitlines() if language == "console" else ():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def shows(output, lines):
    """The first of the lines that the output lacks, None if it has all."""
    left = iter(output.splitlines())
    for line in lines:
        pattern = re.compile(".*".join(map(re.escape, line.strip().split("..."))) + r"\Z")
        if not any(pattern.match(found.strip()) for found in left):
            return line
    return None


def test_lines_are_looked_for_in_order():
    assert shows("a\n  b 12 c\n", ["a", "b ... c"]) is None
    assert shows("a\nb\n", ["b", "a"]) == "a"
    assert shows("a.c", ["abc"]) == "abc"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    kernels = next(body for language, body in BLOCK.findall(page()) if language == "python")
    (tmp_path / "kernels.py").write_text(kernels)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TILE_TUNE_DATABASE", str(tmp_path / "tuned.sqlite"))
    return tmp_path


SECTIONS = (
    *("What all commands share", "tile compile", "tile run", "tile bench", "tile tune"),
    *("tile explain", "tile cache", "tile targets", "tile doctor", "tile opt", "tile fuzz"),
    "tile completion",
)


@pytest.mark.parametrize("title", SECTIONS)
def test_examples(folder, capsys, title):
    if title in LIBRARIES:
        pytest.importorskip(LIBRARIES[title])
    text = next(s for s in SECTION.split(page()) if s.startswith(f"{title}\n"))
    commands = commands_of(text)
    assert commands
    if title == "tile cache":
        cli.main(["compile", "kernels.py:scale", "--target", "cpu"])
    status = 0
    for command, lines in commands:
        capsys.readouterr()
        if command == "echo $?":
            assert [str(int(status))] == lines
            status = 0
            continue
        assert status == 0  # or it is shown
        status = cli.main(shlex.split(command)[1:])
        printed = "".join(capsys.readouterr())
        assert shows(printed, lines) is None, printed
    assert status == 0 or "tile doctor" in title  # which may have found something here


def test_every_command_is_on_the_page():
    sections = re.findall(r"^## tile (\S+)$", page(), re.MULTILINE)
    assert sorted(sections) == sorted([*cli.COMMANDS, "tune"])
    assert {s for s in SECTIONS if s.startswith("tile ")} == {f"tile {s}" for s in sections}


def test_every_status_is_on_the_page():
    from tile_ir.exit_status import ExitStatus

    listed = re.findall(r"^\| (\d+) \|", page(), re.MULTILINE)
    assert [int(n) for n in listed] == list(ExitStatus)
