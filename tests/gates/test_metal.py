"""The whole corpus, and products and attention in the language, become Metal source that a compiler
takes, for the oldest family and one with bf16; without a device."""

import re
from functools import cache
from pathlib import Path

import pytest

import tile_frontend.language as T
from tile_frontend import driver
from tile_frontend.target_select import select
from tile_ir.testing.by_path import module_at
from tile_ir.testing.corpus import corpus
from tile_ir.testing.requires import requires
from tile_metal.checkers import find_checker
from tile_metal.toolchain import check_source

ROOT = Path(__file__).parents[2]
own = module_at(ROOT / "tests/gpu/kernels.py")

pytestmark = pytest.mark.gates

FAMILIES = ("apple7", "apple9")
SIZES = {"M": 1024, "N": 1024, "K": 1024, "block": (64, 64, 32)}
f16, bf16, f32 = T.float16, T.bfloat16, T.float32

PRODUCTS = {
    "f16": (f16, r"tile_multiply<half, float>"),
    "bf16": (bf16, r"tile_multiply<bfloat, float>|tile_multiply_widened"),
    "f32": (f32, r"tile_multiply<float, float>"),
}


@cache
def target(family):
    return select(f"metal -arch={family}")


@cache
def checker():
    found = find_checker()
    requires("a compiler that checks Metal source", found is not None)
    return found


def source_of(function, family):
    made, _ = driver.lowered(function, target(family))
    check_source(made.source, checker())
    return made


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", sorted(corpus()))
def test_a_program_passes_the_compiler(name, family):
    made = source_of(corpus()[name].function, family)
    assert made.kernels
    assert all(0 <= row.shared <= 32768 for row in made.usage.values())
    assert all(row.threads % 32 == 0 and row.threads <= 1024 for row in made.usage.values())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", sorted(PRODUCTS))
def test_a_product_runs_on_simdgroup_matrices(kind, family):
    dtype, call = PRODUCTS[kind]
    fn = own.matmul.get_tir(**SIZES, dtype=dtype, out=dtype, accumulate=f32)
    source = source_of(fn.function, family).source
    assert re.search(call, source)
    assert ("bfloat" in source) == (kind == "bf16" and family == "apple9")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("block_m", "block_n", "dim"), [(64, 64, 64), (64, 32, 128)])
def test_attention_runs_on_simdgroup_matrices(family, block_m, block_n, dim):
    sizes = {"batch": 2, "heads": 8, "length": 1000, "dim": dim}
    blocks = {"block_M": block_m, "block_N": block_n}
    fn = own.attention.get_tir(**sizes, **blocks, dtype=f16, causal=True)
    made = source_of(fn.function, family)
    assert made.source.count("tile_multiply<half, float>(") == 2
    assert made.usage["attention"].shared <= 32768
