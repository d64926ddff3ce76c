"""The catalogue of diagnostic codes and the sources agree: nothing unexplained, nothing dead."""

import re

from tile_ir.codes import catalogue

CODE = re.compile(r"""["'](E\d{4})["']""")


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


def test_explanations_are_sentences():
    for code, (title, explanation) in catalogue().items():
        assert title, code
        assert not title.endswith("."), code
        assert explanation.rstrip().endswith((".", ")", "`")), code
        assert len(explanation) > 20, code
