"""Violations that no text can hold, in programs made by hand; and how findings are raised."""

import dataclasses
import time
from pathlib import Path

import pytest

from tile_ir import build as b
from tile_ir import ops
from tile_ir.core import Buffer, Function, Module, Param, Region
from tile_ir.diag import Diagnostic, InternalError, Span, TileError
from tile_ir.expr import Binary, Call, Const, Load, Unary, Var
from tile_ir.opdef import _BY_CLASS, OPS
from tile_ir.text import parse_module
from tile_ir.types import bool_, f16, f32, i32, i64, u8
from tile_ir.verify import check, verify

n = Var("n", i32)
A = Buffer(name="A", dtype=f32, shape=(b.const(8),), scope="global")


def _let(value, type_=i32, name="v"):
    return ops.Let(var=Var(name, type_), value=value)


def _fn(*body, **fields):
    return Function(name="f", params=(Param(buffer=A), Param(scalar=n)), body=tuple(body), **fields)


@pytest.mark.parametrize(
    ("code", "body", "words"),
    [
        ("E0402", [_let(Var("m", i32))], "m is used where it is not declared"),
        ("E0402", [_let(Load("B", (b.const(0),), f32), f32)], "B is used where it is not declared"),
        ("E0402", [_let(Load("n", (), i32))], "n is a scalar, not a buffer"),
        ("E0402", [_let(Var("A", i32))], "A is a buffer, not a scalar"),
        ("E0403", [_let(Var("n", i64), i64)], "n is i32, but is used as i64"),
        ("E0404", [_let(n, name="nan")], "'nan' cannot be a name"),
        ("E0404", [_let(n, name="a b")], "'a b' cannot be a name"),
        ("E0405", [_let(Load("A", (), f32), f32)], "A has 1 axes but is indexed with 0"),
        ("E0406", [_let(Binary("add", n, Const(1, i64), i32))], "add has operands of i32 and i64"),
        ("E0406", [_let(Binary("add", n, n, i64), i64)], "add of i32 is i32, not i64"),
        ("E0406", [_let(Binary("lt", n, n, i32))], "lt of i32 is bool, not i32"),
        ("E0406", [_let(Call("exp", (Const(1.0, f32),), f16), f16)], "exp gives f32, not f16"),
        (
            "E0406",
            [_let(Call("hypot", (Const(1.0, f32), Const(1.0, f16)), f32), f32)],
            "hypot has arguments of f16 and f32",
        ),
        ("E0407", [_let(Binary("plus", n, n, i32))], "there is no binary operator 'plus'"),
        ("E0407", [_let(Unary("minus", n, i32))], "there is no unary operator 'minus'"),
        ("E0407", [_let(Call("expp", (n,), i32))], "there is no function 'expp'"),
        ("E0407", [_let(Call("clz", (), i32))], "clz takes 1 arguments, not 0"),
        ("E0409", [_let(Const(0.1, f32), f32)], "0.1 is not a value of f32"),
        ("E0409", [_let(Const(1, f32), f32)], "1 is not a value of f32"),
        ("E0409", [_let(Const(True, i32))], "True is not a value of i32"),
        ("E0409", [_let(Const(1, bool_), bool_)], "1 is not a value of bool"),
        ("E0409", [_let(Const(256, u8), u8)], "256 does not fit in u8"),
        ("E0409", [_let(Const(1, b.dtype("i32x2")))], "the literal 1 has type i32x2"),
        ("E0417", [_let(Load("A", (b.const(0),), f16), f16)], "of A is f32, not f16"),
    ],
)
def test_expressions(code, body, words):
    found = verify(_fn(*body))
    assert code in {d.code for d in found if words in d.message}, [d.message for d in found]


def test_a_region_of_the_wrong_rank():
    stmt = ops.Print(message="", values=(Region("A", ()),))
    assert [d.code for d in verify(_fn(stmt))] == ["E0405"]


def test_a_parameter_is_one_thing():
    fn = Function(name="f", params=(Param(),), body=())
    assert [d.code for d in verify(fn)] == ["E0411"]


def test_a_name_ends_with_its_body():
    inner = ops.If(cond=b.const(True), then=(_let(n),))
    found = verify(_fn(inner, _let(Var("v", i32), name="w")))
    assert [(d.code, d.message) for d in found] == [("E0402", "v is used where it is not declared")]
    local = Buffer(name="L", dtype=f32, shape=(b.const(8),), scope="global")
    inner = ops.If(cond=b.const(True), then=(ops.Alloc(buffer=local),))
    found = verify(_fn(inner, ops.Print(message="", values=(b.whole(local),))))
    assert found[0].notes == ("its declaration is in another body",)


def test_sibling_bodies_may_reuse_a_scalar_but_not_a_buffer():
    def branch(stmt):
        return ops.If(cond=b.const(True), then=(stmt,))

    assert verify(_fn(branch(_let(n)), branch(_let(n)))) == ()
    local = ops.Alloc(buffer=Buffer(name="L", dtype=f32, shape=(b.const(8),), scope="global"))
    assert [d.code for d in verify(_fn(branch(local), branch(local)))] == ["E0401"]


def test_every_violation_is_reported_with_its_statement():
    first, second = Span("k.py", 3, 4), Span("k.py", 9, 0)
    bad = Binary("plus", n, n, i32)
    body = (
        ops.Let(var=Var("v", i32), value=bad, span=first),
        ops.Let(var=Var("v", i32), value=b.const(1.0), span=second),
    )
    found = verify(_fn(*body))
    assert [(d.code, d.span) for d in found] == [
        ("E0407", first),
        ("E0433", second),
        ("E0401", second),
    ]


def test_a_statement_without_a_place_takes_the_enclosing_one():
    place = Span("k.py", 3, 4)
    stmt = ops.If(cond=b.const(True), then=(ops.Break(),), span=place)
    assert {d.span for d in verify(_fn(stmt))} == {place}


def test_check_raises_all_findings():
    fn = _fn(ops.Break(), ops.Continue())
    with pytest.raises(TileError) as caught:
        check(fn)
    assert [d.code for d in caught.value.diagnostics] == ["E0412", "E0413"] * 2
    with pytest.raises(InternalError):
        check(Module(functions=(fn,)), internal=True)
    check(_fn())


def test_an_op_may_bring_its_own_rule(monkeypatch):
    finding = Diagnostic("E0999", "no printing today")
    with_rule = dataclasses.replace(OPS["print"], verify=lambda stmt: [finding])
    monkeypatch.setitem(_BY_CLASS, ops.Print, with_rule)
    assert verify(_fn(ops.Print(message="hello"))) == (finding,)


def test_attention_is_verified_in_five_milliseconds():
    path = Path(__file__).parent.parent / "golden" / "text" / "attention.tir"
    module = parse_module(path.read_text())
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        assert verify(module) == ()
        best = min(best, time.perf_counter() - start)
    assert best < 0.005
