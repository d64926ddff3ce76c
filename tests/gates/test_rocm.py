"""Products and attention become machine code for five generations of AMD GPUs, without one, and
their loops overlap: loads of the next tile start before the products of this one, and are put down
after them.
"""

import re
from functools import cache
from pathlib import Path

import pytest

import tile_frontend.language as T
from tile_frontend import driver
from tile_frontend.target_select import select
from tile_ir.diag import TileError
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires
from tile_rocm.compilers import find_compiler
from tile_rocm.toolchain import assembly, compile_source

pytestmark = pytest.mark.gates


own = module_at(Path(__file__).parents[2] / "tests/gpu/kernels.py")

ARCHITECTURES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200")
SIZES = {"M": 1024, "N": 1024, "K": 1024}
HALF = {"dtype": T.float16, "out": T.float16, "accumulate": T.float32, "block": (128, 128, 32)}
HEADS = {"batch": 2, "heads": 8, "length": 1024}

GEMMS = {
    "nn": lambda: own.matmul.get_tir(**SIZES, **HALF),
    "nt": lambda: own.matmul.get_tir(**SIZES, **HALF, transpose_b=True),
    "tn": lambda: own.matmul.get_tir(**SIZES, **HALF, transpose_a=True),
    "odd": lambda: own.matmul.get_tir(M=127, N=65, K=1000, **{**HALF, "block": (64, 64, 32)}),
    "few trips": lambda: own.matmul.get_tir(M=63, N=129, K=200, **{**HALF, "block": (64, 64, 64)}),
    "any size": lambda: own.matmul_of_any_size.get_tir(dtype=T.float16),
}
ATTENTION = {
    "64 full": lambda: own.attention.get_tir(**HEADS, dim=64, dtype=T.float16, causal=False),
    "64 causal": lambda: own.attention.get_tir(**HEADS, dim=64, dtype=T.float16, causal=True),
    "128 causal": lambda: own.attention.get_tir(**HEADS, dim=128, dtype=T.bfloat16, causal=True),
}
KERNELS = {**GEMMS, **ATTENTION}

CHAINED = ("gfx90a", "gfx942", "gfx950", "gfx1200")
"""Where a result of a product lies in registers as the operand of the next one."""
KINDS = (
    ("load", r"global_load\w*"),
    ("read", r"ds_(?:read|load)\w*"),
    ("write", r"ds_(?:write|store)\w*"),
    ("product", r"v_(?:mfma|wmma)\w*"),
    ("barrier", r"s_barrier(?:_wait)?"),
)


@cache
def built(name, arch):
    """Source, usage and the machine's text."""
    artifact, _ = driver.lowered(KERNELS[name]().function, select(f"rocm -arch={arch}"))
    (usage,) = compile_source(artifact.source, arch, artifact.strict)[1].values()
    return usage, assembly(artifact.source, arch, artifact.strict)


@pytest.fixture(scope="module", autouse=True)
def _compiler():
    def found():
        try:
            return bool(find_compiler())
        except TileError:
            return False

    requires("ziglang", found)


def loop_of(text):
    """The kinds of a loop's instructions, in order: of the smallest loop with products."""
    lines = [line.strip() for line in text.splitlines()]
    labels = {m[1]: i for i, line in enumerate(lines) if (m := re.match(r"(\.LBB\w+):", line))}
    ends = {}
    for i, line in enumerate(lines):
        jump = re.match(r"s_c?branch\w*\s+(\.LBB\w+)", line)
        if jump and labels.get(jump[1], i) < i:
            ends[jump[1]] = i  # the last jump back: a loop may go on in several places
    loops = [[k for x in lines[labels[n] : i] if (k := kind_of(x))] for n, i in ends.items()]
    return min((x for x in loops if "product" in [k for k, _ in x]), key=len)


def kind_of(line):
    """(kind, instruction) of a line, None where it is of no interest."""
    for kind, pattern in KINDS:
        if match := re.match(rf"({pattern})\b", line):
            return kind, match[1]
    return None


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", KERNELS)
def test_registers_suffice(name, arch):
    usage, text = built(name, arch)
    assert usage.vector_spills == 0
    assert not re.search(r"\bscratch_", text)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ["nn", "nt", "tn"])  # others branch around their loads
def test_a_trip_loads_multiplies_and_puts_down(name, arch):
    loop = loop_of(built(name, arch)[1])
    kinds = [kind for kind, _ in loop]
    first = kinds.index("product")
    last = len(kinds) - 1 - kinds[::-1].index("product")
    assert kinds.count("barrier") == 1
    assert {"load", "write", "read"} <= set(kinds)
    assert "load" not in kinds[first:]
    assert "write" not in kinds[: last + 1]
    assert "read" not in kinds[last:]
    narrow = [op for kind, op in loop if kind in ("read", "write") and re.search("[ui](8|16)", op)]
    assert narrow == []


@pytest.mark.parametrize("arch", CHAINED)
@pytest.mark.parametrize("name", ATTENTION)
def test_a_trip_of_attention_has_two_barriers_and_loads_behind_each(name, arch):
    kinds = [kind for kind, _ in loop_of(built(name, arch)[1])]
    assert kinds.count("barrier") == 2
    at = kinds.index("barrier")
    around = kinds[at:] + kinds[:at]
    parts = " ".join(around).split("barrier")[1:]
    assert all("load" in part.split("product")[0] for part in parts)
    assert all("product" in part and "write" in part for part in parts)
