"""The descriptions load, say what the hardware is, and their fragment layouts are whole."""

import pytest

from tile_ir.diag import TileError
from tile_ir.layout import FragmentLayout, parse_layout
from tile_rocm import spec
from tile_rocm.host_arch import arch_for, host_arch
from tile_rocm.intrinsics.matrix import instruction_of, is_turned, matrix_wrapper

NAMES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200")


def test_every_architecture_is_listed_in_order():
    assert spec.names() == NAMES


@pytest.mark.parametrize("arch", NAMES)
def test_a_description_says_what_a_block_may_have(arch):
    found = spec.load(arch)
    shared = found.scopes["shared"]
    assert (found.name, found.arch, found.family) == ("rocm", arch, "gpu")
    assert found.warp_width == (64 if arch.startswith("gfx9") else 32)
    assert (shared.bytes, shared.banks) == ((163840, 64) if arch == "gfx950" else (65536, 32))
    assert found.registers.per_thread == (512 if arch.startswith("gfx9") else 256)
    assert (found.max_threads, found.toolchain.cpu) == (1024, arch)
    assert found.has("shuffle")


@pytest.mark.parametrize("arch", NAMES)
def test_operands_lie_in_the_lanes_of_a_wave(arch):
    for atom in spec.load(arch).matrix.values():
        extents = {"m": atom.m, "n": atom.n, "k": atom.k}
        for operand, axes in (("a", "mk"), ("b", "kn"), ("accumulator", "mn")):
            layout = parse_layout(atom.layout(operand))
            assert isinstance(layout, FragmentLayout)
            assert layout.threads == atom.threads == spec.load(arch).warp_width
            shape = dict(zip(layout.outputs, layout.output_shape, strict=True))
            assert shape == {axis: extents[axis] for axis in axes}
            copies = 2 if arch == "gfx1100" and operand != "accumulator" else 1
            assert layout.replication == copies
            held = {layout.owners((i, j)) for i in range(2) for j in range(0, 16, 8)}
            assert len(held) == 4


@pytest.mark.parametrize("arch", NAMES)
def test_every_atom_has_its_instruction_and_says_which_way_it_turns(arch):
    for atom in spec.load(arch).matrix.values():
        name, text = matrix_wrapper(atom)
        assert instruction_of(atom).builtin in text
        assert name == f"tile_matrix_{atom.name}"
        assert is_turned(atom) == (not atom.name.endswith("_down"))


def test_the_fastest_atoms():
    def fastest(arch, kind, result="f32"):
        return spec.load(arch).atoms(kind, kind, result)[0].name

    assert fastest("gfx90a", "f16") == fastest("gfx942", "f16") == "m32n32k8_f16"
    assert fastest("gfx950", "bf16") == "m32n32k16_bf16"
    assert fastest("gfx942", "tf32") == "m32n32k4_tf32"
    assert fastest("gfx950", "f8e4m3fn") == "m32n32k64_f8e4m3fn"
    assert fastest("gfx1100", "f16") == fastest("gfx1200", "f16") == "m16n16k16_f16"
    assert spec.load("gfx950").atoms("tf32", "tf32", "f32") == ()


@pytest.mark.parametrize(
    ("arch", "kind", "result", "teraflops"),
    [
        ("gfx90a", "f16", "f32", 191.5),
        ("gfx942", "f16", "f32", 1307.4),
        ("gfx942", "f8e4m3fnuz", "f32", 2614.9),
        ("gfx942", "f32", "f32", 163.4),
        ("gfx950", "bf16", "f32", 2516.6),
        ("gfx950", "f4e2m1fn", "f32", 10066.3),
        ("gfx1100", "f16", "f32", 122.9),
        ("gfx1200", "f8e4m3fn", "f32", 205.1),
    ],
)
def test_rates_are_those_of_the_data_sheets(arch, kind, result, teraflops):
    found = spec.load(arch)
    rate = found.atoms(kind, kind, result)[0].rate
    peak = rate * found.rates.cores * found.rates.clock_hz / 1e12
    assert peak == pytest.approx(teraflops, rel=2e-3)


def test_an_unknown_architecture_names_those_that_exist():
    with pytest.raises(TileError) as caught:
        spec.load("gfx42")
    assert caught.value.code == "E0916"
    assert "gfx942" in caught.value.help


def test_the_description_of_a_device():
    assert arch_for("gfx942") == "gfx942"
    with pytest.raises(TileError) as caught:
        arch_for("gfx803")
    assert caught.value.code == "E3014"


def test_the_architecture_may_be_asked_for(monkeypatch):
    monkeypatch.setenv("TILE_ROCM_ARCH", "gfx950")
    assert host_arch() == "gfx950"
