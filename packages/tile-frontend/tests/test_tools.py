"""Target selection, and what importing costs."""

import subprocess
import sys

import pytest

from tile_frontend import target_select
from tile_ir.diag import TileError
from tile_ir.plugin import TargetManifest
from tile_ir.target import parse_target


def test_auto_takes_what_is_at_hand(installed, monkeypatch):
    assert str(target_select.select()) == "oracle -arch=oracle"
    assert target_select.select("auto").device == "cpu"
    monkeypatch.setenv("TILE_TARGET", "oracle -arch=oracle")
    assert target_select.select().request == parse_target("oracle -arch=oracle")
    assert target_select.select({"kind": "oracle"}).manifest.name == "oracle"


def test_auto_passes_over_targets_without_their_hardware(installed, oracle):
    def absent():
        raise TileError("E9999", "the driver is missing")

    fields = {f: getattr(oracle, f) for f in ("specs", "pipeline", "emit", "toolchain", "runtime")}
    broken = TargetManifest(name="broken", host_arch=absent, **fields)
    planned = TargetManifest(name="a-planned", status="planned", **fields)
    installed(broken, planned, oracle)
    assert target_select.select().manifest is oracle
    installed(broken, planned)
    with pytest.raises(TileError) as raised:
        target_select.select()
    assert raised.value.code == "E2014"
    assert raised.value.notes == (
        "a-planned: planned, not built yet",
        "broken: the driver is missing",
        "not installed: cpu, cuda, metal, rocm",
    )
    assert 'pip install "tile-frontend[cpu]"' in raised.value.help


def test_a_target_that_is_not_installed_comes_with_what_brings_it(installed):
    with pytest.raises(TileError, match="no such target") as raised:
        target_select.select("rocm -arch=any")
    assert (raised.value.code, raised.value.help) == (
        "E0901",
        'pip install "tile-frontend[rocm]"; `tile doctor` lists every plugin',
    )
    with pytest.raises(TileError) as raised:
        target_select.select("nobodys")
    assert raised.value.help is None  # as it was raised


def test_of_several_targets_the_first_by_rank_that_is_at_hand(installed, oracle):
    fields = {f: getattr(oracle, f) for f in ("specs", "pipeline", "emit", "toolchain", "runtime")}

    def made(name, arch, rank, memory=()):
        return TargetManifest(name=name, host_arch=lambda: arch, rank=rank, memory=memory, **fields)

    absent = made("absent", None, 10, ("gpu",))
    second, third = made("second", "oracle", 30, ("gpu",)), made("third", "oracle", 20)
    installed(absent, second, third)
    assert target_select.select().manifest is third
    assert target_select.select(None, "gpu").manifest is second
    assert target_select.select("second").memory == ("cpu",)  # by its description's family
    assert target_select.memory_of(second) == ("gpu",)
    assert target_select.memory_of(third) == ("third",)
    installed(absent, third)
    with pytest.raises(TileError) as raised:  # the arrays say which, the hardware not which one
        target_select.select(None, "gpu")
    assert (raised.value.code, raised.value.message) == (
        "E0916",
        "target 'absent' needs an architecture",
    )


def test_auto_follows_the_arrays(installed, oracle):
    fields = {f: getattr(oracle, f) for f in ("specs", "pipeline", "emit", "toolchain", "runtime")}
    accelerator = TargetManifest(name="accelerator", host_arch=lambda: "oracle", **fields)
    installed(accelerator, oracle)
    assert target_select.select().manifest is accelerator
    assert target_select.select("auto", "oracle").manifest is oracle
    assert target_select.select(None, "accelerator").manifest is accelerator
    assert target_select.select(None, "unheard of").manifest is accelerator
    assert target_select.select("accelerator", "oracle").manifest is accelerator


def test_a_target_is_text_a_mapping_or_a_manifest(oracle):
    assert target_select.select(oracle).manifest is oracle
    chosen = target_select.select(oracle)
    assert target_select.select(chosen) is chosen
    with pytest.raises(TileError) as raised:
        target_select.select(3)
    assert raised.value.code == "E2015"


def test_importing_the_language_loads_no_target_and_no_array_library():
    program = (
        "import sys, tile_frontend as tile, tile_frontend.language, tile_frontend.jit_function\n"
        "assert callable(tile.jit) and callable(tile.compile)\n"
        "loaded = {n.partition('.')[0] for n in sys.modules}\n"
        "print(sorted(loaded & {'numpy', 'torch', 'ml_dtypes', 'tile_cpu'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
