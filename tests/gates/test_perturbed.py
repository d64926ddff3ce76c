"""Kernels one step away from the measured ones: planned without a template, the same instructions.

Each case says what the plan decides and in which order the machine code issues matrix instructions
(`g`), waits for all but n of their groups (`n`) and takes exponents or hyperbolic tangents (`m`).
"""

import re
import subprocess
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import pytest

from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.toolchain import compile_source
from tile_frontend import driver
from tile_frontend.target_select import select
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

pytestmark = pytest.mark.gates

kernels = module_at(Path(__file__).parent / "perturbed.py")

HEADS = {"B": 4, "H": 16, "S": 4096, "D": 128}
HEADS_64 = {**HEADS, "D": 64}
SIZES = {"M": 4096, "N": 5760, "K": 4096}
LAGS = {"attention.j.stage": (("gemm:out", 1),)}
"""The second product is that of the block before: it runs beside the vector work on the scores."""
LEAVES = ("k", "C_stage_ring")
"""Where a result leaves: piece by piece in the next tile's loop over k."""
STEADY = "g{4}1"
"""One product is always in flight."""


@dataclass(frozen=True)
class Case:
    """A kernel; decisions of its plan; a pattern of its machine code, and one with decisions of the
    user (`pins`): results before waits, copies of registers."""

    make: object
    plan: dict = field(default_factory=dict)
    order: str = ""
    pins: dict = field(default_factory=dict)
    pinned: str = ""


def attention(twist, sizes=HEADS, **more):
    return lambda: kernels.attention.get_tir(**sizes, twist=twist, **more)


def matmul(**more):
    return lambda: kernels.matmul.get_tir(**{**SIZES, **more})


TOTAL = {"attention.j.pin": ("parallel:total",)}
CASES = {
    "soft cap": Case(attention("cap"), LAGS, "g{16}1", TOTAL, "g{16}1m{190,}0"),
    "soft cap, causal": Case(
        attention("cap", HEADS_64, causal=True), LAGS, "g{12}1", TOTAL, "g{12}1m{190,}0"
    ),
    "bias by distance": Case(attention("distance"), LAGS, "g{16}1", TOTAL, "g{16}1m{64,}0"),
    "bias by distance, causal": Case(
        attention("distance", causal=True), LAGS, "g{16}1", TOTAL, "g{16}1m{64,}0"
    ),
    "second values": Case(
        attention("second values", HEADS_64),
        {"attention.j.stage": (("gemm:out", 1), ("gemm:other", 1))},
        "g{20}2",
        TOTAL,
        "g{20}2m{64,}1",
    ),
    "three groups": Case(
        attention("", HEADS_64, block_M=192, threads=384), LAGS, "g{12}1", TOTAL, "g{12}1m{64,}0"
    ),
    **{
        f"{n} keys": Case(
            attention("", block_N=n),
            LAGS,
            f"g{{{8 + n // 16}}}1",
            TOTAL,
            f"g{{{8 + n // 16}}}1m{{{n // 2},}}0",
        )
        for n in (80, 144, 192)
    },
    "scores in halves": Case(
        lambda: kernels.attention_by_halves.get_tir(**HEADS),
        {"attention_by_halves.j.stage": (("gemm:out", 1), ("gemm:out#2", 1))},
        "g{24}3",
        {"attention_by_halves.j.pin": ("reduce:top", "parallel:total")},
        "g{24}32m{64,}[01]",
    ),
    **{
        f"{n} columns": Case(matmul(block_N=n), {"matmul.copy:C.interleave": LEAVES}, STEADY)
        for n in (80, 144, 192)
    },
    "bias and activation": Case(
        matmul(twist="bias, gelu"), {"matmul.copy:C.interleave": LEAVES}, STEADY
    ),
    "one trip": Case(matmul(K=64), {"matmul.k.stage": ()}, "g{4}0"),
    "gated": Case(
        lambda: kernels.gated_matmul.get_tir(**SIZES),
        {"gated_matmul.copy:C.interleave": LEAVES},
        "g{8}2",
    ),
    "scale in the loop": Case(
        lambda: kernels.scaled_matmul.get_tir(**SIZES),
        {"scaled_matmul.k.copies": 2},
        "g{8}10",
        {"scaled_matmul.k.copies": 1, "scaled_matmul.copy:C.interleave": LEAVES},
        "g{4}0",
    ),
    "scale in the loop, one group": Case(
        lambda: kernels.scaled_matmul.get_tir(**SIZES, block_M=64, threads=128),
        {"scaled_matmul.k.copies": 2},
        "g{8}10",
        {"scaled_matmul.k.copies": 1},
        "g{4}0",
    ),
    "nested loops": Case(
        lambda: kernels.matmul_of_sums.get_tir(**SIZES, parts=4),
        {"matmul_of_sums.roles": ("producer", "compute")},
        STEADY,
    ),
    "no product": Case(
        lambda: kernels.squares.get_tir(M=16384, K=4096),
        {
            "squares.roles": ("producer", "compute"),
            "squares.channel[A_s_ring]": ("box_load", 4, "A_s"),
        },
    ),
}


@pytest.fixture(scope="module")
def disassembler():
    requires("nvidia-cuda-nvrtc", lambda: find_nvrtc() is not None)
    try:
        files = metadata.files("nvidia-cuda-nvdisasm") or []
    except metadata.PackageNotFoundError:
        files = []
    found = [str(f.locate()) for f in files if f.name in ("nvdisasm", "nvdisasm.exe")]
    requires("nvidia-cuda-nvdisasm", bool(found))
    return found[0]


INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*);", re.M)


def events(text):
    """The matrix instructions, waits for them and special functions of machine code, in order."""
    out = []
    for opcode, operands in INSTRUCTION.findall(text):
        if opcode.startswith("HGMMA"):
            out.append("g")
        elif opcode.startswith("WARPGROUP.DEPBAR"):
            out.append(str(int(operands.split(",")[-1], 16)))
        elif opcode.startswith("MUFU"):
            out.append("m")
    return "".join(out)


def built(case, pins, disassembler, folder):
    """Plan, events and opcodes of a case for Hopper."""
    fn = case.make().function
    artifact, _ = driver.lowered(fn, select("cuda -arch=sm_90a"), pins)
    cubin, usage = compile_source(artifact.source, "sm_90a", artifact.strict)
    assert all(u.spill_stores == u.spill_loads == u.stack == 0 for u in usage.values()), usage
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    command = [disassembler, "-c", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    opcodes = {opcode.split(".")[0] for opcode, _ in INSTRUCTION.findall(text)}
    assert not opcodes & {"STL", "LDL"}
    return artifact.plan, events(text), opcodes


@pytest.mark.parametrize("name", CASES)
def test_a_perturbed_kernel_overlaps_where_its_graph_allows(name, disassembler, tmp_path):
    case = CASES[name]
    plan, order, opcodes = built(case, {}, disassembler, tmp_path)
    assert {key: plan.value(key, None) for key in case.plan} == case.plan
    assert "UTMALDG" in opcodes
    assert ("HGMMA" in opcodes) == bool(case.order)
    assert re.search(case.order, order), order


def test_a_product_of_few_tiles_is_shared_by_two_blocks(disassembler, tmp_path):
    """Sums go to the other block's memory from registers, 16 bytes at a time."""
    case = Case(matmul(M=64, N=4096, block_M=64, threads=128), order=STEADY)
    plan, order, opcodes = built(case, {}, disassembler, tmp_path)
    assert plan.value("matmul.k.split", 1) == 2
    assert plan.value("matmul.tiles.claim", "") == "hardware"
    assert {"UTMALDG", "HGMMA", "STAS", "UCGABAR_ARV"} <= opcodes
    assert re.search(case.order, order), order


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case.pins])
def test_pinned_decisions_change_the_order_of_instructions(name, disassembler, tmp_path):
    case = CASES[name]
    plan, order, _ = built(case, case.pins, disassembler, tmp_path)
    assert {key: plan.find(key).by for key in case.pins} == dict.fromkeys(case.pins, "user")
    assert re.search(case.pinned, order), order
