"""Every code that builder, text and verifier raise is in the catalogue, and the other way round."""

import re
from pathlib import Path

import tile_ir
from tile_ir.codes import build, text, verify

ROOT = Path(tile_ir.__file__).parent


def _raised(*places):
    files = [
        f for p in places for f in ([ROOT / p] if p.endswith(".py") else ROOT.glob(f"{p}/**/*.py"))
    ]
    return {code for f in files for code in re.findall(r'\(\s*"(E\d{4})"', f.read_text())}


def test_the_catalogue_is_complete():
    ours = build.CODES | text.CODES | verify.CODES
    raised = _raised("build.py", "fold.py", "schema.py", "text", "verify")
    assert raised - {"E9001"} == set(ours)


def test_every_entry_has_a_title_and_an_explanation():
    for title, explanation in (build.CODES | text.CODES | verify.CODES).values():
        assert title == title.strip(".")
        assert len(explanation) > len(title)
        assert explanation.endswith(".")
