"""The quick look at what descriptions need of a host agrees with reading them."""

from tile_cpu import spec
from tile_cpu.spec import host


def test_needs_are_what_the_descriptions_say():
    read = {arch: frozenset(spec.load(arch).toolchain.host_features) for arch in spec.names()}
    assert host._needs() == read
    assert all(read.values())


def test_the_richest_fitting_description_is_chosen():
    needs = host._needs()
    assert host.best_arch(needs["x86-64-v3"] | {"sse2"}, needs) == "x86-64-v3"
    assert host.best_arch(needs["x86-64-v4"], needs) == "x86-64-v4"
    assert host.best_arch(frozenset({"sse2"}), needs) is None
