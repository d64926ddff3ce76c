"""The descriptions load, say what the hardware is, and their fragment layouts are whole."""

import pytest

from tile_ir.diag import InternalError, TileError
from tile_ir.layout import FragmentLayout, parse_layout
from tile_ir.target import MatrixAtom
from tile_metal import spec
from tile_metal.host_arch import arch_for, host_arch
from tile_metal.intrinsics.matrix import matrix_function

NAMES = ("apple7", "apple8", "apple9", "apple10")


def test_every_family_is_listed_in_order():
    assert spec.names() == NAMES


@pytest.mark.parametrize("arch", NAMES)
def test_a_description_says_what_a_block_may_have(arch):
    found = spec.load(arch)
    assert (found.name, found.arch, found.family) == ("metal", arch, "gpu")
    assert (found.warp_width, found.max_threads) == (32, 1024)
    assert found.capacity("shared") == 32768
    assert not found.copy
    assert "f64" not in found.dtypes
    assert found.has("shuffle")


@pytest.mark.parametrize("arch", NAMES)
@pytest.mark.parametrize("name", ["m8n8k8_f16", "m8n8k8_f16_f16", "m8n8k8_bf16", "m8n8k8_f32"])
def test_a_lane_has_two_neighbours_of_a_row(arch, name):
    atom = spec.load(arch).matrix[name]
    for operand, axes in (("a", "mk"), ("b", "kn"), ("accumulator", "mn")):
        layout = parse_layout(atom.layout(operand))
        assert isinstance(layout, FragmentLayout)
        assert (layout.threads, layout.values, layout.replication) == (32, 2, 1)
        assert sorted(layout.outputs) == sorted(axes)
        for lane in range(32):
            # Row and column as MLX computes them for its fragments.
            quad = lane // 4
            row = (quad & 4) + (lane // 2) % 4
            column = (quad & 2) * 2 + (lane % 2) * 2
            for value in range(2):
                at = dict(zip(axes, (row, column + value), strict=True))
                where = tuple(at[axis] for axis in layout.outputs)
                assert layout.owners(where) == ((lane, value),)


def test_only_newer_families_multiply_bf16_as_it_is():
    def function(arch, name):
        found = spec.load(arch)
        return matrix_function(found.matrix[name], found)

    assert function("apple7", "m8n8k8_bf16") == "tile_multiply_widened"
    assert function("apple9", "m8n8k8_bf16") == "tile_multiply<bfloat, float>"
    assert function("apple7", "m8n8k8_f16") == "tile_multiply<half, float>"
    assert function("apple7", "m8n8k8_f16_f16") == "tile_multiply<half, half>"


def test_the_tensor_unit_is_known_and_has_no_atom():
    found = spec.load("apple10")
    assert found.has("tensor_ops")
    assert set(found.matrix) == set(spec.load("apple9").matrix)


def test_an_atom_without_instruction_is_our_defect():
    found = spec.load("apple7")
    odd = found.matrix["m8n8k8_f16"]
    wide = MatrixAtom(
        name="odd", m=16, n=8, k=8, a=odd.a, b=odd.b, accumulator=odd.accumulator, threads=32
    )
    with pytest.raises(InternalError) as caught:
        matrix_function(wide, found)
    assert caught.value.code == "E3090"


def test_an_unknown_name_lists_those_that_exist():
    with pytest.raises(TileError) as caught:
        spec.load("apple1")
    assert caught.value.code == "E0916"
    assert "apple9" in caught.value.help


@pytest.mark.parametrize(("chip", "arch"), [(1, 7), (2, 8), (3, 9), (4, 9), (5, 10), (7, 10)])
def test_a_chip_runs_the_code_of_its_family(chip, arch):
    assert arch_for(chip) == f"apple{arch}"


def test_no_chip_is_a_coded_error():
    with pytest.raises(TileError) as caught:
        arch_for(0)
    assert caught.value.code == "E3014"


def test_the_family_may_be_asked_for(monkeypatch):
    monkeypatch.setenv("TILE_METAL_ARCH", "apple8")
    assert host_arch() == "apple8"
