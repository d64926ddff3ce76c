"""Loops and copies of other forms: steps, branches, page tables, buffers no channel can carry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_ir.verify import verify
from tile_passes.base import PassContext, State
from tile_passes.cli import GENERIC
from tile_passes.default import device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.protocol.check_protocol import verdicts

HEAD = """tile.ir 1.0 tile
func @f(A: global f16[K, 64], B: global f16[K, 64], T: global i32[64], C: global f32[64, 64]) dims (K) {
  kernel @f threads = (128) {
    tiles (bx) in (1) {
      alloc a: shared f16[64, 64]
      alloc b: shared f16[64, 64]
      alloc x: fragment f32[64, 64]
      alloc n: var i32[]
      fill x[:, :], 0.0
      store n[] = 0
"""  # noqa: E501 -- a signature is one line
TAIL = """
      copy x[:, :] -> C[:, :]
    }
  }
}
"""
LOADS = """copy A[k * 64 : +64, 0 : +64] -> a[:, :] clip
copy B[k * 64 : +64, 0 : +64] -> b[:, :] clip
"""
PRODUCT = "gemm a[:, :], b[:, :] -> x[:, :]\n"
PIPED = "pipelined num_stages = 3"

FORMS = {
    "step 2": f"for k in (0, ceildiv(K, 64), 2) {PIPED} {{ {LOADS} {PRODUCT} }}",
    "downwards": f"for k in (ceildiv(K, 64) - 1, -1, -1) {PIPED} {{ {LOADS} {PRODUCT} }}",
    "from 2": f"for k in (2, ceildiv(K, 64), 1) {PIPED} {{ {LOADS} {PRODUCT} }}",
    "constant trips": f"for k in (0, 5, 1) {PIPED} {{ {LOADS} {PRODUCT} }}",
    "serial": f"for k in (0, ceildiv(K, 64), 1) serial {{ {LOADS} {PRODUCT} }}",
    "branch": f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{ if k != 1 {{ {LOADS} {PRODUCT} }} }}",
    "branch around the product": (
        f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{ {LOADS} if T[k] > 0 {{ {PRODUCT} }} }}"
    ),
    "page table": (
        f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{\n let p = T[k] \n"
        "copy A[p * 64 : +64, 0 : +64] -> a[:, :] clip\n"
        f"copy B[k * 64 : +64, 0 : +64] -> b[:, :] clip\n {PRODUCT} }}"
    ),
    "left early": (
        f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{ {LOADS} {PRODUCT} if k == 2 {{ break }} }}"
    ),
    "counter in a variable": (
        f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{\n"
        "copy A[n[] * 64 : +64, 0 : +64] -> a[:, :] clip\n"
        f"copy B[k * 64 : +64, 0 : +64] -> b[:, :] clip\n {PRODUCT} store n[] = n[] + 1 }}"
    ),
    "filled twice": (
        f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{ {LOADS} {PRODUCT}"
        f"copy B[0 : +64, 0 : +64] -> b[:, :] clip\n {PRODUCT} }}"
    ),
    "filled in halves": (
        f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{\n"
        "copy A[k * 64 : +32, 0 : +64] -> a[0 : +32, :] clip\n"
        "copy A[k * 64 + 32 : +32, 0 : +64] -> a[32 : +32, :] clip\n"
        f"copy B[k * 64 : +64, 0 : +64] -> b[:, :] clip\n {PRODUCT} }}"
    ),
    "through a view": (
        "view v: shared f16[4096] of a\n"
        f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{ {LOADS}"
        "parallel (i, j) in (64, 64) { store v[i * 64 + j] = v[i * 64 + j] + f16(1.0) }\n"
        f"{PRODUCT} }}"
    ),
    "two register sets": (
        "alloc p: fragment f16[64, 64]\n alloc q: fragment f16[64, 64]\n"
        f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{ {LOADS}"
        "parallel (i, j) in (64, 64) { store p[i, j] = a[i, j] + f16(1.0) }\n"
        "gemm p[:, :], b[:, :] -> x[:, :]\n"
        "parallel (i, j) in (64, 64) { store q[i, j] = a[i, j] * f16(2.0) }\n"
        "gemm q[:, :], b[:, :] -> x[:, :] }"
    ),
    "two loops over the same buffers": (
        f"for k in (0, ceildiv(K, 64), 1) {PIPED} {{ {LOADS} {PRODUCT} }}\n"
        f"for k in (0, ceildiv(K, 128), 1) {PIPED} {{ {LOADS} {PRODUCT} }}"
    ),
    "no loop": LOADS.replace("k *", "0 *") + PRODUCT,
    "loops in a serial loop": (
        f"for e in (0, 3, 1) serial {{ for k in (e, ceildiv(K, 64), 1) {PIPED} "
        f"{{ {LOADS} {PRODUCT} }} }}"
    ),
    "while": (
        f"while n[] < 3 {{ for k in (0, ceildiv(K, 64), 1) {PIPED} {{ {LOADS} {PRODUCT} }}\n"
        "store n[] = n[] + 1 }"
    ),
}
TARGETS = {"async": toy_spec("async"), "sync": toy_spec("sync"), "generic": GENERIC}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_values(form: str, target: str) -> None:
    fn = parse_function(HEAD + FORMS[form] + TAIL)
    cx = PassContext(target=TARGETS[target])
    made = run_pipeline(device_pipeline(), State(function=fn), cx).state.function
    assert verify(made) == ()
    assert verdicts(made)[0].kind in ("proved", "bounded", "not covered")
    rng = np.random.default_rng(5)
    for k in (1, 130, 320):
        args: dict[str, Any] = {
            "A": rng.integers(-2, 3, (k, 64)).astype(np.float16),
            "B": rng.integers(-2, 3, (k, 64)).astype(np.float16),
            "T": rng.integers(0, 3, 64).astype(np.int32),
            "C": np.zeros((64, 64), np.float32),
        }
        want = run(fn, args)["C"]
        for schedule in ("late", "issue"):
            got = run(made, args, schedule=schedule)["C"]  # type: ignore[arg-type]  # one of the two
            np.testing.assert_array_equal(got, want, err_msg=print_function(made))
