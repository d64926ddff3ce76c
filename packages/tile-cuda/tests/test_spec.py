"""The descriptions load, say what the hardware is, and their fragment layouts are whole."""

from itertools import product

import pytest

from tile_cuda import spec
from tile_cuda.host_arch import arch_for, host_arch
from tile_cuda.intrinsics.matrix import atom_registers
from tile_ir.diag import TileError
from tile_ir.layout import FragmentLayout, parse_layout

NAMES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120")
SHARED = {
    "sm_75": 64 << 10,
    "sm_80": 163 << 10,
    "sm_86": 99 << 10,
    "sm_89": 99 << 10,
    "sm_90a": 227 << 10,
    "sm_100a": 227 << 10,
    "sm_120": 99 << 10,
}


def test_every_architecture_is_listed_oldest_first():
    assert spec.names() == NAMES


@pytest.mark.parametrize("arch", NAMES)
def test_a_description_says_what_a_block_may_have(arch):
    found = spec.load(arch)
    assert (found.name, found.arch, found.family) == ("cuda", arch, "gpu")
    assert found.capacity("shared") == SHARED[arch]
    assert (found.warp_width, found.max_threads, found.registers.per_thread) == (32, 1024, 255)
    assert found.toolchain.cpu == arch
    assert found.has("shuffle")


@pytest.mark.parametrize("arch", NAMES)
def test_operands_lie_in_the_threads_of_their_atom(arch):
    for atom in spec.load(arch).matrix.values():
        sized = atom.at_n(atom.n)
        extents = {"a": (atom.m, atom.k), "b": (atom.k, atom.n), "accumulator": (atom.m, atom.n)}
        for operand, shape in extents.items():
            text = sized.layout(operand)
            if not text:  # read from shared memory only
                continue
            layout = parse_layout(text)
            assert isinstance(layout, FragmentLayout)
            assert layout.threads == atom.threads
            assert layout.threads * layout.values == shape[0] * shape[1]
            held = {layout.owners(c) for c in [(0, 0), (1, 1)]}
            assert len(held) == 2


def _owner(operand, per_lane, row, column):
    """Lane and number of the value of an element, after the pictures of the PTX ISA ("Matrix
    Fragments for mma"): a lane has `per_lane` neighbours along k (of the accumulator: along n, 2),
    eight lanes down, four across."""
    outer, inner = (column, row) if operand == "b" else (row, column)
    lane = outer % 8 * 4 + inner // per_lane % 4
    down = outer // 8  # A and C have two halves of eight rows
    across = inner // (4 * per_lane)
    halves = 2 if operand == "a" else 1
    return lane, inner % per_lane + per_lane * (down + halves * across)


PER_LANE = {"f16": 2, "bf16": 2, "tf32": 1, "f64": 1}
"""Neighbours along k that one register has; 8-bit types have four."""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89"])
def test_fragments_lie_as_the_instruction_set_says(arch):
    for atom in spec.load(arch).matrix.values():
        shapes = {"a": (atom.m, atom.k), "b": (atom.k, atom.n), "accumulator": (atom.m, atom.n)}
        for operand, (rows, columns) in shapes.items():
            layout = parse_layout(atom.layout(operand))
            kind = getattr(atom, operand).dtype
            per_lane = 2 if operand == "accumulator" else PER_LANE.get(kind, 4)
            axes = {"a": "mk", "b": "kn", "accumulator": "mn"}[operand]
            for row, column in product(range(rows), range(columns)):
                at = tuple((row, column)[axes.index(name)] for name in layout.outputs)
                assert tuple(layout.owners(at)) == (_owner(operand, per_lane, row, column),)


def test_the_fastest_atom_of_each_architecture():
    fastest = {arch: spec.load(arch).atoms("f16", "f16", "f32")[0] for arch in NAMES}
    assert {a: f.name for a, f in fastest.items()} == {
        "sm_75": "m16n8k8_f16",
        **dict.fromkeys(("sm_80", "sm_86", "sm_89", "sm_100a", "sm_120"), "m16n8k16_f16"),
        "sm_90a": "m64nNk16_f16",
    }
    # The dense f16 rate of an H200 at its clock, in TFLOP/s.
    hopper = spec.load("sm_90a").rates
    assert round(4096 * hopper.cores * hopper.clock_hz / 1e12) == 949


def test_registers_of_an_operand():
    atom = spec.load("sm_80").matrix["m16n8k16_f16"]
    assert [atom_registers(atom, o).count for o in ("a", "b", "accumulator")] == [4, 2, 4]
    wide = spec.load("sm_90a").matrix["m64nNk16_f16"].at_n(128)
    assert atom_registers(wide, "accumulator").count == 64


def test_an_unknown_architecture_names_those_that_exist():
    with pytest.raises(TileError) as caught:
        spec.load("sm_42")
    assert caught.value.code == "E0916"
    assert "sm_90a" in caught.value.help


@pytest.mark.parametrize(
    ("capability", "arch"),
    [((7, 5), "sm_75"), ((8, 0), "sm_80"), ((8, 7), "sm_86"), ((9, 0), "sm_90a"),
     ((10, 0), "sm_100a"), ((12, 0), "sm_120"), ((12, 1), "sm_120")],
)  # fmt: skip
def test_the_description_of_a_device(capability, arch):
    assert arch_for(*capability) == arch


@pytest.mark.parametrize("capability", [(7, 0), (10, 3), (13, 0)])
def test_a_device_without_description(capability):
    with pytest.raises(TileError) as caught:
        arch_for(*capability)
    assert caught.value.code == "E3014"


def test_the_architecture_may_be_asked_for(monkeypatch):
    monkeypatch.setenv("TILE_CUDA_ARCH", "sm_86")
    assert host_arch() == "sm_86"


def test_boxes_begin_where_the_engine_wants_them():
    engines = {
        (arch, name): engine.shared_alignment
        for arch in spec.names()
        for name, engine in spec.load(arch).copy.items()
        if engine.elect
    }
    assert len(engines) == 6
    assert set(engines.values()) == {128}
