"""Another compiler uses a pass through the text alone: it reads what the grammar document says, and
the command is all that it knows of the packages here."""

from __future__ import annotations

import ast
import shutil
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tile_ir.testing.corpus import corpus
from tile_ir.text import print_function

HERE = Path(__file__).parent / "foreign" / "foreign_compiler"
ROOT = Path(__file__).parents[2]
DOCUMENT = files("tile_ir.text").joinpath("GRAMMAR.md").read_text(encoding="utf-8")
GOLDENS = sorted((ROOT / "packages/tile-ir/tests/golden/text").glob("*.tir"))
SIZE = 7


@pytest.fixture(autouse=True)
def _installed(distribution):
    distribution("foreign-compiler", "foreign")


def flat(node):
    """The tokens of what the reader gives."""
    if isinstance(node, str):
        return [node]
    parts = node.values() if isinstance(node, dict) else node
    return [token for part in parts for token in flat(part)]


def read(text):
    from foreign_compiler.reader import Reader

    reader = Reader(text, DOCUMENT)
    return reader.module(), [token for token, _ in reader.tokens]


def execute(text, **arrays):
    from foreign_compiler.compiler import execute as run

    run(text, DOCUMENT, {**arrays, "n": SIZE})


def operands():
    return {"a": [float(i) for i in range(SIZE)], "b": [0.5] * SIZE, "total": [0.0] * SIZE}


def sum_text():
    from foreign_compiler.compiler import sum_of

    return sum_of("ab", tile=4)


def borrow(text, passes):
    from foreign_compiler.compiler import borrow as through

    beside = Path(sys.executable).with_name("tile-opt")
    return through(text, passes, [str(beside) if beside.exists() else shutil.which("tile-opt")])


def test_it_imports_nothing_of_ours():
    roots = set()
    for file in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                roots |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                roots.add(node.module.partition(".")[0])
    assert not {name for name in roots if name.startswith("tile")}
    assert roots - {"foreign_compiler"} <= sys.stdlib_module_names


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda path: path.stem)
def test_every_statement_is_read_from_the_document_alone(golden):
    found, tokens = read(golden.read_text(encoding="utf-8"))
    assert flat(found) == tokens


def test_the_corpus_is_read_by_the_names_of_the_document():
    for name, sample in corpus().items():
        found, tokens = read(f"tile.ir 1.0 tile\n{print_function(sample.function)}")
        assert flat(found) == tokens, name
        _, (_, body) = found
        kernel = next(s for s in body[1:-1] if s[0] == "kernel")
        assert isinstance(kernel["name"], str), name


def test_parts_have_the_names_of_the_form():
    (_, (_, body)), _ = read(
        corpus()["gemm_nn_f16"].text.replace("\nfunc", "tile.ir 1.0 tile\nfunc")
    )
    (tiles,) = body[1]["body"][1:-1]
    assert flat(tiles["vars"]) == ["bx", ",", "by"]
    loop = next(s for s in tiles["body"] if isinstance(s, dict) and s[0] == "for")
    assert (loop["var"], loop["kind"], loop["num_stages ="]) == ("k", "pipelined", "3")
    assert flat([loop["start"], loop["stop"]]) == ["0", "ceildiv", "(", "K", ",", "16", ")"]


def test_its_own_code_leaves_the_arrays_without_the_pass():
    with pytest.raises(IndexError, match="element 7 of 7"):
        execute(sum_text(), **operands())


def test_the_pass_makes_its_code_right():
    text, arrays = borrow(sum_text(), "bounds, simplify"), operands()
    assert text.count("select(block * 4 + lane < n") == 2
    execute(text, **arrays)
    assert arrays["total"] == [i + 0.5 for i in range(SIZE)]


def test_what_the_command_prints_is_read_by_it_again():
    once = borrow(sum_text(), "bounds, simplify")
    assert borrow(once, "bounds, simplify") == once


def test_the_reader_stays_small():
    """Lines of code: blank ones, comments and docstrings are not counted."""
    text = (HERE / "reader.py").read_text()
    prose = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            prose |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = [line.strip() for n, line in enumerate(text.splitlines(), 1) if n not in prose]
    assert 80 < sum(1 for line in lines if line and not line.startswith("#")) <= 120


def test_a_text_that_the_grammar_does_not_know_is_refused():
    with pytest.raises(SyntaxError, match="in wanted, not 'of'"):
        read("tile.ir 1.0 tile\nfunc @f() { kernel @k { tiles (b) of (4) { } } }")
