"""Mistakes in the text: the code, the place, what was expected, and a way out."""

import dataclasses
import pickle

import pytest

from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.expr import Const, Var
from tile_ir.symbols import Symbols
from tile_ir.text import parse_expr, parse_function, parse_module
from tile_ir.types import f16, f32, i32
from tile_ir.verify import verify

HEAD = "tile.ir 1.0 tile\n"

STATEMENTS = [
    # (statement, code, column from 0, words of the message)
    ("copy A[0] - B_s[0]", "E0004", 10, "expected `->`, found `-`"),
    ("copy A[0] -> B_s[0] clop", "E0012", 20, "copy has no attribute clop"),
    ("copy A[0] -> B_s[0] clip, clip", "E0012", 26, "clip is given twice"),
    ("copy A[0] -> B_s[0] clip width = 4", "E0004", 25, "expected the end of the statement"),
    ("copy A[0] -> B_s[0] width = x", "E0004", 28, "expected a whole number, found `x`"),
    ("copy A[0] -> B[0]", "E0006", 13, "B is not declared here"),
    ("copy A[0, 0] -> B_s[0]", "E0013", 5, "A has 1 axes but is indexed with 2"),
    ("copy A[0 : 4] -> B_s[0]", "E0004", 11, "expected `+`, found `4`"),
    ("coppy A[0] -> B_s[0]", "E0005", 0, "there is no statement coppy"),
    ("= 3", "E0004", 0, "expected a statement, found `=`"),
    ("let z = 1 +", "E0004", 11, "expected an expression, found the end of the line"),
    ("copy A[0]", "E0004", 9, "expected `->`, found the end of the line"),
    ("let z = n + 1.0", "E0011", 10, "`+` needs operands of one type, not i32 and f32"),
    ("let z = 1 < n < 3", "E0004", 14, "comparisons do not chain"),
    ("let z = A + 1", "E0018", 8, "A is a buffer, not a scalar"),
    ("let z = n[0]", "E0018", 8, "n is a scalar, not a buffer"),
    ("let z = A[0, 1]", "E0013", 8, "A has 1 axes but is indexed with 2"),
    ("let z = expp(1.0)", "E0008", 8, "there is no function expp"),
    ("let z = exp(1.0, 2.0)", "E0009", 8, "exp takes 1 arguments, not 2"),
    ("let z = min(n, 1.0)", "E0011", 8, "min needs operands of one type"),
    ("let z = 3000000000", "E0010", 8, "3000000000 does not fit in i32"),
    ("let z = 1:f16", "E0010", 8, "1 is an integer, f16 is not"),
    ("let z = 1.5:i32", "E0010", 8, "1.5 is no value of i32"),
    ("let z = 1:q16", "E0007", 8, "there is no type q16"),
    ("let z: q16 = 1", "E0007", 7, "there is no type q16"),
    ("let z = n $ 2", "E0003", 10, "unexpected character '$'"),
    ('assert true, "open', "E0016", 13, "this string does not end on its line"),
    ('assert true, "\\q"', "E0016", 13, "unknown escape"),
    ("alloc B_s: shred f16[4]", "E0004", 11, "expected a memory scope, found `shred`"),
    ("alloc T: shared f16[4] layout [i (]", "E0019", 30, ""),
    ("for k in (0, 4) serial { }", "E0004", 14, "expected `,`, found `)`"),
    ("for k in (0, 4, 1) serial num_stage = 2 { }", "E0012", 26, "for has no attribute"),
    ("break break", "E0004", 6, "expected the end of the statement"),
    ("if n { }", None, 0, ""),
]


def _caught(text, file=None):
    with pytest.raises(TileError) as caught:
        parse_module(text, file)
    return caught.value


@pytest.mark.parametrize(("text", "code", "col", "words"), STATEMENTS, ids=lambda v: str(v)[:24])
def test_statement_errors_have_a_place(text, code, col, words):
    before = "func @f(A: global f16[4], n: i32) {\n  alloc B_s: shared f16[4]\n"
    program = f"{HEAD}{before}{text}\n}}\n"
    if code is None:
        assert len(parse_module(program).functions[0].body) == 2
        return
    error = _caught(program)
    assert words in error.message
    assert (error.code, error.span.line, error.span.col) == (code, 4, col)


@pytest.mark.parametrize(
    ("text", "code", "line", "col", "words"),
    [
        ("", "E0001", 1, 0, "does not start with a version line"),
        ("func @f() { }", "E0001", 1, 0, "does not start with a version line"),
        ("tile.ir 2.0 tile\n", "E0002", 1, 0, "this text has version 2.0"),
        ("tile.ir 1.9 tile\n", "E0002", 1, 0, "this text has version 1.9"),
        ("tile.ir simt (tile-ir 9.9)\n", "E0002", 1, 0, "this simt text is of tile-ir 9.9"),
        (HEAD + "fun @f() { }", "E0004", 2, 0, "expected `func`, found `fun`"),
        (HEAD + "func f() { }", "E0004", 2, 5, "expected `@`, found `f`"),
        (HEAD + "func @f(", "E0004", 2, 8, "expected `)`, found the end of the text"),
        (HEAD + "func @f() dim (M) { }", "E0004", 2, 10, "expected dims, results, numerics"),
        (HEAD + "func @f() stage tiles { }", "E0004", 2, 16, "expected a stage, found `tiles`"),
        (HEAD + "func @f(n: q) { }", "E0007", 2, 11, "there is no type q"),
        (HEAD + "func @f() {\n", "E0004", 3, 0, "expected a statement, found the end"),
        (HEAD + "func @f() { }\n}", "E0004", 3, 0, "expected `func`, found `}`"),
        (HEAD + "func @f(A: global f16[M]) { }", "E0006", 2, 22, "M is not declared here"),
    ],
)
def test_module_errors_have_a_place(text, code, line, col, words):
    error = _caught(text, "k.tir")
    assert (error.code, error.span.line, error.span.col) == (code, line, col)
    assert words in error.message
    assert error.span.file == "k.tir"


def test_older_minors_are_read(monkeypatch):
    monkeypatch.setattr("tile_ir.schema.SCHEMA_VERSION", (1, 3))
    assert parse_module("tile.ir 1.2 tile\n").functions == ()


def test_a_statement_newer_than_the_text_is_refused(monkeypatch):
    from tile_ir.opdef import OPS

    monkeypatch.setitem(OPS, "break", dataclasses.replace(OPS["break"], since=(1, 1)))
    error = _caught(HEAD + "func @f() {\n  break\n}")
    assert (error.code, error.span.line, error.span.col) == ("E0017", 3, 2)


def test_expressions_have_places_too():
    symbols = Symbols([Var("n", i32), Buffer(name="A", dtype=f16, shape=(), scope="var")])
    with pytest.raises(TileError) as caught:
        parse_expr("n * (n +\n m)", symbols)
    assert (caught.value.code, caught.value.span.line, caught.value.span.col) == ("E0006", 2, 1)
    with pytest.raises(TileError, match="end of the text"):
        parse_expr("n n", symbols)


def test_errors_help():
    symbols = Symbols([Var("scale", f32)])
    with pytest.raises(TileError) as caught:
        parse_expr("scael", symbols)
    assert caught.value.help == "did you mean scale?"
    assert caught.value.notes == ("in the line: scael",)
    with pytest.raises(TileError) as caught:
        parse_expr("scale * 2", symbols)
    assert caught.value.help == (
        "convert one of them, as in f32(...), or write a literal of its type, as in 1.0"
    )


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("(scale", "write `)` there"),
        ("(scale 1.0)", "write `)` before `1.0` or in its place"),
        ("scale scale", "remove what follows, or parse it as a text of its own"),
        ("unheard(scale)", "call a type to convert, an operator such as min, or one of"),
        ("pow(scale)", "pow(a, b) is its form"),
        ("scale[0]", "read it without brackets, or name a buffer"),
        ("-1:u8", "name a wider type, as in -1:i32"),
        ("3000000000", "name a wider type, as in 3000000000:i64"),
        ("18446744073709551616", "no integer type holds it: write a float, with a point"),
        ("1.5:i32", "write a whole number, or name a float type"),
        ("$", "remove it; a name with such characters is written as a string in quotes"),
    ],
)
def test_help_fits_the_mistake(text, fix):
    with pytest.raises(TileError) as caught:
        parse_expr(text, Symbols([Var("scale", f32)]))
    assert caught.value.help.startswith(fix)


def test_deep_nesting_is_an_error_of_its_own():
    with pytest.raises(TileError) as caught:
        parse_expr("(" * 100_000 + "1" + ")" * 100_000, Symbols())
    assert caught.value.code == "E0015"


def test_names_end_with_their_body():
    text = "func @f() {\n  if true {\n    let z = 1\n  }\n  let y = z\n}"
    with pytest.raises(TileError) as caught:
        parse_function(text)
    assert (caught.value.code, caught.value.span.line) == ("E0006", 5)
    fine = parse_function("func @f() {\n  let z = 1\n  if true {\n    let y = z\n  }\n}")
    assert fine.body[1].then[0].value is fine.body[0].var
    assert fine.body[0].value is Const(1, i32)


def test_semicolons_separate_statements_of_one_line():
    fn = parse_function("func @f() { let a = 1; let b = a # a comment\n}")
    assert [s.var.name for s in fn.body] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("fil A[:], 0.0", "fil", "fill"),
        ("copy A[:] -> B[:] widht = 2", "widht", "width"),
        ("fill AA[:], 0.0", "AA", "A"),
        ("store A[0] = sqr(1.0)", "sqr", "sqrt"),
    ],
)
def test_a_misspelt_word_comes_with_its_mend(tmp_path, line, old, new):
    params = "A: global f32[4], B: global f32[4]"
    text = f"{HEAD}func @f({params}) {{ kernel @f {{ tiles (b) in (1) {{\n  {line}\n}} }} }}"
    path = tmp_path / "k.tir"
    path.write_text(text)
    error = _caught(text, str(path))
    edit = error.diagnostics[0].edit
    assert (edit.line, edit.before, edit.new) == (3, f"  {line}", new)
    assert edit.after == f"  {line}".replace(old, new, 1)
    assert str(error).endswith(f"\n 3 -   {line}\n 3 + {edit.after}")
    assert pickle.loads(pickle.dumps(error)).fix == error.fix


def test_a_word_of_an_attribute_comes_with_its_mend(tmp_path):
    text = (
        HEAD + "func @f(A: global f32[4]) { kernel @f {\n tiles (b) in (1) claim = statc { }\n} }"
    )
    path = tmp_path / "k.tir"
    path.write_text(text)
    (found,) = verify(parse_module(text, str(path)))
    assert (found.code, found.help) == ("E0431", "did you mean static?")
    assert found.edit.after == " tiles (b) in (1) claim = static { }"
    assert dataclasses.replace(found, span=None).edit is None
