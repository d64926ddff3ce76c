"""Lines, blocks, and the user's lines as comments."""

import pytest

from tile_ir.diag import Span
from tile_passes.emit import Writer, c_name
from tile_passes.emit.names import c_string


def test_blocks_indent_and_chain():
    out = Writer()
    with out.block("if (a)", tail=""):
        out.line("x();")
    with out.block("} else"):
        out.lines("y();\nz();")
    assert out.text() == "if (a) {\n  x();\n} else {\n  y();\n  z();\n}\n"


def test_a_place_is_said_once_with_its_source_line(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("first\n  T.copy(A, A_s)  # */ \\\n", encoding="utf-8")
    out = Writer()
    for _ in range(2):
        out.place(Span(str(file), 2, 2))
        out.line("x();")
    out.forget_place()
    out.place(Span(str(file), 2, 2))
    comment = "// kernel.py:2: T.copy(A, A_s)  # * /"
    assert out.text() == f"{comment}\nx();\nx();\n{comment}\n"


def test_line_directives_name_the_file():
    out = Writer(line_directives=True)
    with out.block(""):
        out.place(Span("nowhere.py", 7))
        out.line("x();")
    assert out.text() == '{\n#line 7 "nowhere.py"\n  // nowhere.py:7\n  x();\n}\n'


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("A_s", "A_s"),
        ("int", "int_"),
        ("tile_x", "tile_x_"),
        ("a.b", "a_b"),
        ("2x", "_2x"),
        ("é", "_"),
        ("linux", "linux_"),
        ("operator", "operator_"),
        ("uint8_t", "uint8_t_"),
    ],
)
def test_identifiers(name, want):
    assert c_name(name) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('a "b" \\ \n\t', r'"a \"b\" \\ \n\t"'),
        ("\x071 \x85", r'"\0071 \302\205"'),
        ("é ≥ \U0001f680 \ud800", r'"\u00e9 \u2265 \U0001f680 ?"'),
        ("what????/", r'"what?\?\?\?/"'),
    ],
)
def test_strings(text, want):
    assert c_string(text) == want
