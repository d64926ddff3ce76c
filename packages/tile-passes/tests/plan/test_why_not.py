"""Every copy says which engines do not carry it and what limits its width, and the reason is the
true one: without what it names, the engine takes the copy, or the access is wider."""

import re

import pytest

from tile_ir.ops import AtomicTile, Copy
from tile_ir.rewrite import declared, walk
from tile_ir.testing.corpus import corpus
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_passes.fuzz.cases import pipeline_of, spec_of
from tile_passes.manager import run_pipeline
from tile_passes.plan.why_not import reasons_of

pytest.importorskip("tile_cuda")
HOPPER, AMPERE = "cuda -arch=sm_90a", "cuda -arch=sm_80"


def reasons(fn, target):
    cx = PassContext(target=spec_of(target))
    pipeline = pipeline_of(target)
    plan = run_pipeline(pipeline, State(function=fn), cx).state.plan
    return plan, reasons_of(plan, fn, pipeline, cx)


def only(fn, target, key):
    """The decision of that key, and its engines with what is said of them."""
    found = reasons(fn, target)[1].find(key)
    return found, {c.value: c.reason for c in found.candidates}


@pytest.mark.parametrize("name", ["gemm_nn_f16", "gemm_odd_tiles", "dequantize", "scan", "shift"])
@pytest.mark.parametrize("target", [HOPPER, AMPERE])
def test_every_copy_has_a_word_for_every_engine(name, target):
    fn = corpus()[name].function
    before, after = reasons(fn, target)
    assert [d for d in after if before.find(d.key) == d] or not before.decisions
    buffers, spec = declared(fn), spec_of(target)
    copies = [s for s in walk(fn.body) if isinstance(s, (Copy, AtomicTile))]
    scopes = [(buffers[s.src.buffer].scope, buffers[s.dst.buffer].scope) for s in copies]
    engines = [d for d in after if re.search(r"(copy|atomic_tile):[^.]+\.engine$", d.key)]
    assert len(engines) == sum("global" in pair for pair in scopes)
    for d in engines:
        if ": " in d.reason or d.value != "threads":
            continue
        told = {c.value for c in d.candidates}
        able = {
            e.name for e in (*spec.engines("global", "shared"), *spec.engines("shared", "global"))
        }
        assert told <= able
        assert all(c.reason for c in d.candidates)
        assert d.reason


FILL = """func @f(X: global {source}[{rows}, {pitch}]{strides}{safe}, O: global f32[4, 512]) {{
  kernel @k threads = (128) {{
    tiles (b) in (4) {{
      alloc s: shared {held}[{tall}, {wide}]
      alloc r: fragment {held}[{tall}, {wide}]
      alloc t: fragment f32[{tall}]
      fill t[:], 0.0
      for k in (0, 8, 1) pipelined num_stages = 2 {{
        copy X[0 : +{tall}, {start} : +{wide}] -> s[:, :]{clip}
        copy s[:, :] -> r[:, :]
        reduce sum r[:, :] -> t[:] dim = 1, clear = false
      }}
      copy t[:] -> O[b, 0 : +{tall}]
    }}
  }}
}}"""
FITS = {
    "source": "f16",
    "held": "f16",
    "rows": 64,
    "pitch": 1024,
    "strides": "",
    "safe": "",
    "tall": 64,
    "wide": 64,
    "start": "k * 64",
    "clip": "",
}


@pytest.mark.parametrize(
    ("amiss", "reason"),
    [
        ({"held": "f32"}, "it would convert f16 to f32"),
        (
            {"safe": " safe 1.0:f16", "clip": " clip", "start": "k * 256"},
            "elements outside of X would have to arrive",
        ),
        ({"wide": 60}, "rows of 120 bytes are no multiple of 16"),
        ({"pitch": 1028}, "rows of X are 2056 bytes apart, no multiple of 16"),
        (
            {"start": "k * 65"},
            "it begins at k * 65 along the last axis, not known to be a multiple",
        ),
        ({"strides": " strides (2048, 2)"}, "neighbours along the last axis of X are 2 elements"),
        ({"tall": 4, "wide": 8}, "tiles of 64 bytes would not begin where a box may"),
    ],
)
def test_without_what_it_names_an_engine_takes_the_copy(amiss, reason):
    found, engines = only(parse_function(FILL.format(**FITS)), HOPPER, "k.copy:s.engine")
    assert found.value == "box_load"
    found, engines = only(
        parse_function(FILL.format(**{**FITS, **amiss})), HOPPER, "k.copy:s.engine"
    )
    assert found.value != "box_load"
    assert engines["box_load"].startswith(reason)


def test_an_engine_that_one_thread_would_issue():
    fn = corpus()["rms_norm"].function
    found, engines = only(fn, HOPPER, "rms_norm.copy:x.engine")
    assert found.value == "group_load"
    assert engines["box_load"].startswith("one thread would issue it: no pipelined copy")


def obstacle(amiss):
    text = FILL.format(**FITS)
    for old, new in amiss:
        assert old in text
        text = text.replace(old, new)
    return only(parse_function(text), HOPPER, "k.copy:s.engine")[0]


@pytest.mark.parametrize(
    ("amiss", "reason"),
    [
        (
            [("copy t[:] ->", "store X[b, 0] = 1.0:f16\n copy t[:] ->")],
            "X is written in the kernel",
        ),
        ([("-> s[:, :]\n", "-> s[:, :]\n store s[0, 0] = 1.0:f16\n")], "s is not read behind it"),
        ([("fill t", "view v: shared f16[4096] of s\n fill t")], "s has a view"),
        (
            [("-> s[:, :]\n", "-> s[0 : +32, :]\n"), ("X[0 : +64", "X[0 : +32")],
            "it fills a part of s",
        ),
    ],
)
def test_what_keeps_engines_from_being_asked(amiss, reason):
    found = obstacle(amiss)
    assert found.value == "threads"
    assert found.reason.startswith(reason)


WIDTH = """func @f(X: global {dtype}[n, {row}]{strides}, O: global {dtype}[n, {row}]) dims (n) {{
  kernel @k threads = (32) {{
    tiles (b) in (n) {{
      alloc x: fragment {dtype}[{wide}]
      copy X[b, {start} : +{wide}] -> x[:]{width}
      copy x[:] -> O[b, 0 : +{wide}]
    }}
  }}
}}"""
WIDE = {"dtype": "f16", "row": 1024, "wide": 256, "start": "0", "strides": "", "width": ""}


@pytest.mark.parametrize(
    ("amiss", "size", "reason"),
    [
        ({}, 16, "the widest access that there is"),
        ({"row": 1028}, 8, "rows of X have 1028 elements, not known to be a multiple of 8"),
        ({"start": "b * 2"}, 4, "it begins at b * 2 elements, not known to be a multiple of 4"),
        ({"width": " width = 2"}, 4, "the program allows 2 elements"),
        ({"strides": " strides (2048, 2)"}, 2, "elements of X along its last axis are not side by"),
        ({"strides": " strides (1026, 1)"}, 4, "rows of X are apart by 1026 elements, not known"),
    ],
)
def test_without_what_it_names_an_access_is_wider(amiss, size, reason):
    found, _ = only(parse_function(WIDTH.format(**{**WIDE, **amiss})), AMPERE, "k.copy:x.width")
    assert found.value == size
    assert found.reason.startswith(f"bytes at once: {reason}")
