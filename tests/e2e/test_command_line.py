"""The examples of docs/command-line.md, run one after the other in one folder, say what the page
says: each line of output that it shows, `...` for any text, in that order."""

import re
import shlex
from pathlib import Path

import pytest

from tile_frontend import cli
from tile_ir.testing.by_path import module_at

walker = module_at(Path(__file__).parents[1] / "docs" / "walker.py")
SECTION = re.compile(r"^## ", re.MULTILINE)
LIBRARIES = {"tile completion": "argcomplete", "tile tune": "tile_tune"}


def page():
    return (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")


def commands_of(text):
    """The commands of a section, each with the lines that are shown below it."""
    consoles = (b.text for b in walker.blocks(text) if b.kind == "console")
    return [command for text in consoles for command in walker.commands(text)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    kernels = next(b for b in walker.blocks(page()) if b.title == "kernels.py")
    (tmp_path / "kernels.py").write_text(kernels.text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TILE_TUNE_DATABASE", str(tmp_path / "tuned.sqlite"))
    return tmp_path


SECTIONS = ("What all commands share", *re.findall(r"^## (tile \S+)$", page(), re.MULTILINE))


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
        assert walker.missing(printed, lines) is None, printed
    assert status == 0 or "tile doctor" in title  # which may have found something here


def test_every_command_is_on_the_page():
    commands = [title.removeprefix("tile ") for title in SECTIONS[1:]]
    assert sorted(commands) == sorted([*cli.COMMANDS, "tune"])


def test_every_status_is_on_the_page():
    from tile_ir.exit_status import ExitStatus

    listed = re.findall(r"^\| (\d+) \|", page(), re.MULTILINE)
    assert [int(n) for n in listed] == list(ExitStatus)
