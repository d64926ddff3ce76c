"""Norms that no linter checks: sizes, forbidden words, star imports, local imports."""

import ast
import io
import re
import tokenize

import pytest

# Hard limits; one aims at 60-200 lines and 20 lines. A table of data may be marked as exempt.
FILE_LINES = 600
FUNCTION_LINES = 60
EXEMPT = "# size: data table"

VENDOR = re.compile(
    r"cuda|nvidia|rocm|metal|sm_\d|gfx\d|avx|neon|(?<![a-z])(hip|amd)(?![a-z])", re.IGNORECASE
)
NEUTRAL = ("tile-ir", "tile-passes", "tile-frontend")
# Whole file names, and parts of names, that say nothing.
EMPTY_NAMES = re.compile(r"(^|_)(utils?|misc|helpers?|common)\d*(_|\.|$)")


def python_files(folder):
    """Return the sources of one package."""
    return sorted((folder / "src").rglob("*.py"))


def test_files_are_short_enough(folder):
    long = {}
    for path in [*python_files(folder), *(folder / "src").rglob("*.pyi")]:
        text = path.read_text()
        lines = text.count("\n")
        if lines > FILE_LINES and EXEMPT not in text:
            long[path.name] = lines
    assert long == {}


def test_functions_are_short_enough(folder):
    long = {}
    for path in python_files(folder):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES:
                    long[f"{path.name}:{node.name}"] = lines
    assert long == {}


def test_every_module_says_what_it_is(folder):
    silent = [
        p.name for p in python_files(folder) if not ast.get_docstring(ast.parse(p.read_text()))
    ]
    assert silent == []


def test_no_module_has_an_empty_name(folder):
    empty = [path.name for path in python_files(folder) if EMPTY_NAMES.search(path.name)]
    assert empty == []


def test_no_star_imports(folder):
    stars = [
        path.name
        for path in python_files(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    ]
    assert stars == []


@pytest.mark.parametrize("package", NEUTRAL)
def test_neutral_packages_name_no_vendor(root, package):
    """In code: names and strings. Comments and docstrings may give an example."""
    found = []
    for path in python_files(root / "packages" / package):
        for line, text in _code_words(path.read_text()):
            if VENDOR.search(text):
                found.append(f"{path.relative_to(root)}:{line}: {text[:60]}")
    assert found == []


def _code_words(source):
    docstrings = _docstring_lines(ast.parse(source))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_word = token.type in {tokenize.NAME, tokenize.STRING}
        if is_word and token.start[0] not in docstrings:
            yield token.start[0], token.string


def _docstring_lines(tree):
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.update(range(node.lineno, node.end_lineno + 1))
    return lines


def test_suppressions_give_their_reason(folder):
    """`# noqa: CODE -- why` and `# type: ignore[code]`, never a bare one."""
    bare = []
    for path in python_files(folder):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"#\s*noqa(?!: [A-Z]+\d+.* -- \S)", line):
                bare.append(f"{path.name}:{number}")
            if re.search(r"#\s*type:\s*ignore(?!\[)", line):
                bare.append(f"{path.name}:{number}")
    assert bare == []


def test_to_do_notes_name_an_issue(folder):
    notes = [
        f"{path.name}:{number}"
        for path in python_files(folder)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", line)
    ]
    assert notes == []
