"""The gate takes what Metal takes and refuses what it refuses."""

import pytest

from tile_ir.diag import TileError
from tile_metal.checkers import Checker, find_checker, forbidden
from tile_metal.prelude.index import HEAD, mentioned, pieces_for
from tile_metal.toolchain import check_source

KERNEL = """// user.py:12: y = x
TILE_KERNEL(32) f(
    const device float *x [[buffer(0)]],
    device float *y [[buffer(1)]],
    constant int &n [[buffer(2)]],
    TILE_PLACE) {{
  TILE_ARENA(arena, 256);
  threadgroup float *const s = (threadgroup float *)(arena + 0);
  {body}
}}
"""
REFUSED = {
    "threadgroup float *const p = y;": "__local float *const",
    "device float *const p = (device float *)s;": "address space",
    "n = 3;": "read-only",
    "x[0] = 1.0f;": "read-only",
    "half h = as_type<half>(1.0f);": "same bits",
    "y[0] = metal::precise::erf(1.0f);": "erf",
    "float *p = 0;": "a pointer without an address space",
    "y[0] = [](float a) { return a; }(1.0f);": "a lambda",
    "static int count = 0;": "a static variable",
}


def text(body):
    kernel = KERNEL.format(body=body)
    return HEAD + pieces_for(n for n in mentioned(kernel)) + kernel


def test_a_kernel_is_taken(checker):
    body = "s[lane_index] = x[thread_index];\n  tile_sync();\n  y[thread_index] = s[31];"
    assert checker.log(text(body)) is None
    check_source(text(body), checker)


@pytest.mark.parametrize("body", sorted(REFUSED))
def test_what_metal_refuses_is_refused(checker, body):
    with pytest.raises(TileError, match="the Metal compiler refused the kernel") as caught:
        check_source(text(body), checker)
    assert caught.value.code == "E3002"
    assert (caught.value.span.file, caught.value.span.line) == ("user.py", 12)
    assert REFUSED[body] in f"{caught.value.message} {caught.value.notes}"


def test_comments_and_products_are_no_pointers():
    assert forbidden("/* float *p */ x = a * b; // int *q\ny = (float)*p;") == ()
    assert forbidden("\nunsigned short *p;") == ((2, "a pointer without an address space"),)
    assert forbidden("threadgroup unsigned short *const p = q;") == ()


def test_the_clang_of_ziglang_is_found(checker, monkeypatch):
    monkeypatch.setenv("TILE_METAL_CHECK", "clang")
    assert find_checker().release == checker.release


def test_checks_may_be_left_out(monkeypatch):
    monkeypatch.setenv("TILE_METAL_CHECK", "none")
    assert find_checker() is None
    check_source("nonsense")


def test_a_compiler_that_is_not_there_is_a_coded_error(monkeypatch):
    monkeypatch.setenv("TILE_METAL_CHECK", "xcrun")
    monkeypatch.setattr("tile_metal.checkers._apple", lambda: None)
    with pytest.raises(TileError, match="asks for xcrun") as caught:
        find_checker()
    assert caught.value.code == "E3001"


def test_another_compiler_is_a_coded_error(monkeypatch):
    monkeypatch.setenv("TILE_METAL_CHECK", "gcc")
    with pytest.raises(TileError, match="TILE_METAL_CHECK is 'gcc'") as caught:
        find_checker()
    assert caught.value.code == "E3001"


def test_a_compiler_that_does_not_start_is_a_coded_error():
    with pytest.raises(TileError, match="the compiler failed") as caught:
        check_source(text(""), Checker(command=("/nowhere/clang",), release="none"))
    assert caught.value.code == "E3002"
