"""Orders of atomics: fences and coherent pointers where the description has them, else refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from tile_ir.diag import TileError
from tile_ir.text import parse_function
from tile_metal import checkers, device, spec
from tile_metal.checkers import Checker
from tile_metal.emit import emit_function
from tile_metal.memory_orders import DEMAND, coherent
from tile_metal.toolchain import check_source

APPLE7 = spec.load("apple7")
ONE_DEVICE = "coherent(device) device"


def source(order, scope="Y", target=APPLE7):
    return emit_function(
        parse_function(
            f"""func @f(X: global f32[32], Y: global i32[32]) {{
  kernel @f threads = (32) {{
    tiles (bx) in (1) {{
      let t: i32 = thread_index()
      alloc s: shared i32[32] offset 0
      atomic add {scope}[t], i32(X[t]) result = r: i32, order = {order}
      store Y[t] = r
    }}
  }}
}}"""
        ),
        target,
    ).text


@pytest.mark.parametrize("arch", ["apple7", "apple8", "apple9", "apple10"])
@pytest.mark.parametrize(
    ("order", "fences"),
    [
        ("release", ["acq_rel", ""]),
        ("consume", ["", "acq_rel"]),
        ("acquire", ["", "acq_rel"]),
        ("acq_rel", ["acq_rel", "acq_rel"]),
        ("seq_cst", ["seq_cst", "seq_cst"]),
    ],
)
def test_fences_stand_around_the_atomic(checker, arch, order, fences):
    text = source(order, target=spec.load(arch))
    body = text[text.index("TILE_KERNEL(32) f(") :]
    before, after = body.split("const int r = ")
    assert [before.partition("tile_fence_")[2][:7], after.partition("tile_fence_")[2][:7]] == fences
    assert f"const {ONE_DEVICE} float *X [[buffer(1)]]" in body
    assert f"    {ONE_DEVICE} int *Y [[buffer(0)]]" in body
    assert f"TILE_FN {ONE_DEVICE} T *tile_as({ONE_DEVICE} U *p) {{" in text
    assert "/* One step that no other thread of the device sees inside" in text
    check_source(text, checker)


@pytest.mark.parametrize(("order", "scope"), [("relaxed", "Y"), ("acq_rel", "s")])
def test_what_nobody_else_sees_needs_no_fence(checker, order, scope):
    """Memory of a block is ordered by the block's barriers, on every version of the language."""
    text = source(order, scope)
    assert "coherent" not in text
    assert "fence" not in text
    assert not coherent(text)
    check_source(text, checker)


def test_a_description_without_fences_refuses_orders():
    bare = replace(APPLE7, features=frozenset({"shuffle"}))
    assert "fence" not in source("relaxed", target=bare)
    with pytest.raises(TileError, match="no atomic add with the order release") as caught:
        source("release", target=bare)
    assert caught.value.code == "E3101"
    assert caught.value.span.line == 6
    assert "lacks device_fences" in caught.value.notes[0]
    assert "split the kernel" in caught.value.help


def test_the_compiler_is_told_the_version_that_the_source_needs(monkeypatch):
    words = []
    monkeypatch.setattr(
        checkers, "run_program", lambda command, _: words.append(command) or (0, "")
    )
    apple = Checker(command=("metal",), release="", versioned=True)
    for order in ("relaxed", "release"):
        assert apple.log(source(order)) is None
    assert [command[1] for command in words] == ["-std=metal3.1", "-std=metal3.2"]


def test_an_older_language_says_what_it_lacks(checker, tmp_path):
    """The gate's library of an older version: the text stops at its first line."""
    library = tmp_path / "metal_stdlib"
    at = checker.command.index("-I") + 1
    kept = Path(checker.command[at], "metal_stdlib").read_text(encoding="utf-8")
    library.write_text(kept.replace("__METAL_VERSION__ 320", "__METAL_VERSION__ 310"))
    old = replace(checker, command=(*checker.command[:at], str(tmp_path)))
    assert old.log(source("relaxed")) is None
    assert DEMAND in old.log(source("release"))


def test_a_system_that_is_too_old_is_a_coded_error(monkeypatch):
    class Mps:
        @staticmethod
        def compile_shader(text):
            raise SyntaxError(f"program_source:4:2: error: {DEMAND}")

    monkeypatch.setattr(device, "_torch", lambda: type("Torch", (), {"mps": Mps}))
    with pytest.raises(TileError, match=r"need Metal 3\.2") as caught:
        device.compile_shader(source("release"))
    assert caught.value.code == "E3015"
    assert "macOS 15" in caught.value.help
