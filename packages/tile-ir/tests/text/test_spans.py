"""Places in the user's source survive the text when asked for; else the text's own are taken."""

from pathlib import Path

from tile_ir import ops
from tile_ir.core import Function
from tile_ir.diag import Span
from tile_ir.expr import Const
from tile_ir.text import parse_function, parse_module, print_function, print_module
from tile_ir.types import bool_

GEMM = Path(__file__).parent.parent / "golden" / "text" / "gemm.tir"

MACRO = Span("lib.py", 3, 4, 3, 9, Span("a b.py", 7, 0, 8, 2))


def _fn(span):
    true = Const(True, bool_)
    inner = ops.Break(span=span)
    return Function(
        name="f", params=(), body=(ops.While(cond=true, body=(inner,), span=span),), span=span
    )


def test_spans_are_printed_on_request():
    text = print_function(_fn(MACRO), spans=True)
    loc = 'loc("lib.py":3:5-9 from "a b.py":7:1-8:2)'
    assert text == f"func @f() {loc} {{\n  while true {loc} {{\n    break {loc}\n  }}\n}}\n"
    assert "loc" not in print_function(_fn(MACRO))


def test_spans_come_back():
    fn = parse_function(print_function(_fn(MACRO), spans=True))
    assert fn.span == MACRO
    assert fn.body[0].span == MACRO
    assert fn.body[0].body[0].span == MACRO
    short = Span("x.py", 12, 8)
    assert parse_function(print_function(_fn(short), spans=True)).body[0].span == short


def test_statements_have_the_place_in_the_text():
    module = parse_module(GEMM.read_text(), "gemm.tir")
    kernel = module.functions[0].body[0]
    assert kernel.span == Span("gemm.tir", 4, 2, 4, 32)
    alloc = kernel.body[0].body[0]
    assert alloc.span == Span("gemm.tir", 6, 6, 6, 36)
    assert alloc.buffer.span == Span("gemm.tir", 6, 12, 6, 15)
    assert module.functions[0].span.line == 3


def test_text_without_a_file_is_called_tile_ir():
    assert parse_function("func @f() { }").span.file == "<tile-ir>"


def test_spans_take_no_part_in_equality():
    module = parse_module(GEMM.read_text(), "gemm.tir")
    assert parse_module(print_module(module, spans=True)) == module
    again = parse_module(print_module(module, spans=True))
    assert print_module(again, spans=True) == print_module(module, spans=True)
