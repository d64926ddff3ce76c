"""The catalogue of diagnostic codes and the sources agree: nothing unexplained, nothing dead;
and every error says what to do."""

import ast
import re
from pathlib import Path

from tile_ir.codes import catalogue

CODE = re.compile(r"""["'](E\d{4})["']""")
ANYWHERE = re.compile(r"\b([Ee]\d{4})(?=\b|_)")
ERRORS = {"TileError", "TileAttributeError"}


def raised_codes(folders):
    """Return the codes that stand as literals in the sources, outside the catalogue itself."""
    return {
        code
        for folder in folders
        for path in (folder / "src").rglob("*.py")
        if "codes" not in path.parts
        for code in CODE.findall(path.read_text())
    }


def test_every_code_is_explained(folders):
    assert sorted(raised_codes(folders) - set(catalogue())) == []


def test_every_explained_code_is_used(folders):
    assert sorted(set(catalogue()) - raised_codes(folders)) == []


def codes_of_tests():
    """Return the codes that stand in a test, or that a file of a test is named after."""
    root = Path(__file__).parents[2]
    folders = (root / "tests", *(root / "packages").glob("*/tests"))
    files = (f for folder in folders for f in folder.rglob("*") if f.suffix in (".py", ".tir"))
    return {
        code.upper()
        for file in files
        if file != Path(__file__)
        for code in ANYWHERE.findall(f"{file.name} {file.read_text('utf-8')}")
    }


def test_every_code_has_a_test():
    """By its name: that the test raises it is what the test is for."""
    assert sorted(set(catalogue()) - codes_of_tests()) == []


def test_explanations_are_sentences():
    for code, (title, explanation) in catalogue().items():
        assert title, code
        assert not title.endswith("."), code
        assert explanation.rstrip().endswith((".", ")", "`")), code
        assert len(explanation) > 20, code


def says_help(call):
    """Return whether an error is made with `help`: by name, as fifth argument, or in `**words`."""
    given = [word.value for word in call.keywords if word.arg in ("help", None)] + call.args[4:5]
    return any(not (isinstance(v, ast.Constant) and not v.value) for v in given)


def silent_errors(folder):
    """Return the places at which the sources of a package make an error that offers no help."""
    for path in sorted((folder / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                made = getattr(node.func, "id", getattr(node.func, "attr", None))
                if made in ERRORS and not says_help(node):
                    yield f"{folder.name}/{path.name}", node.lineno


def test_every_error_says_what_to_do(folder):
    assert list(silent_errors(folder)) == []


def test_an_error_without_help_is_found(tmp_path):
    (tmp_path / "src").mkdir()
    lines = (
        'TileError("E0001", "m")',
        'TileError("E0001", "m", help=None)',
        'diag.TileError("E0001", "m", help="")',
        'TileError("E0001", "m", help=fix)',
        'TileError("E0001", "m", span, notes, fix)',
        'TileError("E0001", "m", **words)',
    )
    (tmp_path / "src" / "made.py").write_text("\n".join(lines))
    assert [line for _, line in silent_errors(tmp_path)] == [1, 2, 3]
