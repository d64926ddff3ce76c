"""Every code block is of a known kind, and what is not run is checked for what it names."""

import ast
import json
import re
import shlex
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from tile_ir.testing.by_path import module_at
from tile_ir.text import parse_function, parse_module
from tile_ir.verify import check

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

walker = module_at(Path(__file__).with_name("walker.py"))
ROOT = walker.ROOT
PAGES = walker.pages()
SESSIONS = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(), re.MULTILINE))
PROJECTS = {
    path.parent.name: tomllib.loads(path.read_text("utf-8"))["project"]
    for path in ROOT.glob("packages/*/pyproject.toml")
}
OPTION = re.compile(r"--[a-z][a-z-]+")


def of_kind(*kinds):
    """The blocks of these kinds, each with its page and line."""
    return [
        pytest.param(block, id=f"{walker.name_of(page)}:{block.line}")
        for page in PAGES
        for block in walker.blocks(page.read_text("utf-8"))
        if block.kind in kinds
    ]


@pytest.mark.parametrize("page", PAGES, ids=walker.name_of)
def test_every_block_says_what_it_is(page):
    text = page.read_text("utf-8")
    unknown = [b.line for b in walker.blocks(text) if b.kind not in walker.KINDS]
    assert unknown == [], f"kinds are {', '.join(walker.KINDS)}"
    titles = {b.title for b in walker.blocks(text) if b.title and not b.title.endswith(".py")}
    assert titles <= set(walker.OTHERS)


@pytest.mark.parametrize("page", PAGES, ids=walker.name_of)
def test_no_block_is_hidden_in_an_indent(page):
    """Four spaces below an empty line are a block of no kind, unless they continue a list."""
    lines = ["", *walker.outside_fences(page.read_text("utf-8"))]
    found, in_list = [], False
    for before, line in pairwise(lines):
        in_list = bool(re.match(r"\s*([*-]|\d+\.) ", line)) or (in_list and line[:1] in ("", " "))
        if line.startswith("    ") and not before.strip() and not in_list:
            found.append(line)
    assert found == []


@pytest.mark.parametrize("page", walker.GENERATED)
def test_generated_pages_have_tests_of_their_own(page):
    assert (ROOT / page).exists()
    assert (ROOT / walker.GENERATED[page]).exists()


@pytest.mark.parametrize("block", of_kind("yaml", "toml", "json"))
def test_data_is_parsed(block):
    parse = {"yaml": yaml.safe_load, "toml": tomllib.loads, "json": json.loads}[block.kind]
    assert parse(block.text)


@pytest.mark.parametrize("block", of_kind("tir"))
def test_programs_in_the_text_form_are_right(block):
    if block.text.startswith("tile.ir"):
        assert check(parse_module(block.text)) is None
    else:
        assert parse_function(block.text).body


OTHER_PROGRAMS = [p for p in of_kind("python") if p.values[0].title]


@pytest.mark.parametrize("block", OTHER_PROGRAMS)
def test_programs_of_others_are_parsed(block):
    assert ast.parse(block.text).body


@pytest.mark.parametrize("block", of_kind("sh"))
def test_commands_name_what_is_there(block):
    for line in block.text.replace("\\\n", " ").splitlines():
        for command in re.split(r"\s*&&\s*", line):
            words = shlex.split(command, comments=True)
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                assert named_in_knobs(words.pop(0).partition("=")[0]), line
            if words:
                assert words[0] in CHECKS, f"{words[0]} is not known: {line}"
                assert CHECKS[words[0]](words[1:]), line


def named_in_knobs(name):
    """Whether a variable is described where settings are."""
    places = [*ROOT.glob("packages/*/src/*/knobs.py"), *ROOT.glob("packages/*/README.md")]
    return any(name in path.read_text("utf-8") for path in places)


def is_session(words):
    chosen = words[words.index("-s") + 1] if "-s" in words else None
    return chosen in SESSIONS if chosen else words[:2] == ["-t", "fast"] or "-l" in words


def is_pytest(words):
    paths = [w for w in words if "/" in w or w in ("packages", "tests")]
    return all((ROOT / p).exists() for p in paths)


def is_python(words):
    if words[0] == "-m":
        return words[1] in ("pip", "venv") or find_spec(words[1]) is not None
    file = ROOT / words[0]
    beside = [file, ROOT / "benchmarks" / "report.py", ROOT / "examples" / "_run.py"]
    text = "".join(p.read_text("utf-8") for p in beside if p.exists())
    return file.exists() and all(o in text for w in words for o in OPTION.findall(w))


def is_tile(words):
    from tile_frontend import cli

    with pytest.raises(SystemExit) as left:
        cli.main([words[0], "--help"])
    return left.value.code == 0 and all(o in help_of(words[0]) for o in words if o[:2] == "--")


def help_of(command):
    """The options of a command."""
    from tile_frontend import cli

    parser = cli._parser(command)
    actions = next(a for a in parser._actions if a.choices and command in a.choices)
    return actions.choices[command].format_help()


def is_installed_from(words):
    ours = [re.fullmatch(r"(tile-[a-z]+)(?:\[([\w,]+)\])?", w) for w in words]
    for found in filter(None, ours):
        extras = set(PROJECTS[found[1]].get("optional-dependencies", {}))
        if found[2] and not set(found[2].split(",")) <= extras:
            return False
    return words[0] == "install"


def is_path(words):
    return all((ROOT / w).exists() for w in words if "/" in w and not w.startswith("."))


CHECKS = {
    "nox": is_session,
    "pytest": is_pytest,
    "python": is_python,
    "tile": is_tile,
    "tile-opt": lambda words: is_tile(["opt", *words]),
    "pip": is_installed_from,
    ".ci/run": lambda words: (ROOT / ".ci" / "run").exists(),
    ".": is_path,
    "cd": is_path,
}


def test_a_command_that_is_not_there_is_found():
    assert not is_session(["-s", "nonsense"])
    assert not is_python(["benchmarks/nonsense.py"])
    assert not is_python(["benchmarks/cpu.py", "--nonsense"])
    assert not is_pytest(["tests/nonsense"])
    assert not is_installed_from(["install", "tile-cpu[nonsense]"])
    assert not is_tile(["tune", "--nonsense"])
    assert not named_in_knobs("TILE_NONSENSE")
