"""Conformance of passes and targets, as pytest classes that a plugin subclasses in three lines.

class TestMyPass(PassConformance): def apply(self, function): return my_pass(function)

class TestMyTarget(TargetConformance): target = "mine" compile = "tile_mine.driver:compile_function"

A target is tested in levels: L0 its manifest, L1 emission, L2 its toolchain, L3 results against the
oracle, L4 time. What the machine lacks degrades the levels above it to skips that the summary
reports (see `requires`).
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.plugin import load, resolve
from tile_ir.rewrite import walk
from tile_ir.target import find_spec, parse_target
from tile_ir.testing.compare import assert_all_close, assert_close
from tile_ir.testing.corpus import Sample, corpus
from tile_ir.testing.host_memory import call_on_host
from tile_ir.testing.random import Program, random_inputs, random_program
from tile_ir.testing.requires import requires
from tile_ir.text import print_function
from tile_ir.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tile_ir.core import Function
    from tile_ir.plugin import TargetManifest
    from tile_ir.target import TargetSpec

__all__ = ["PassConformance", "TargetConformance"]


def _compare_sample(sample: Sample, got: Mapping[str, Any], want: Mapping[str, Any]) -> None:
    assert got.keys() == want.keys()
    for name, array in got.items():
        assert_close(array, want[name], rtol=sample.rtol, what=f"{sample.name}: {name}")


class PassConformance:
    """A pass keeps programs valid, keeps their meaning, does not touch its input, and settles.

    `samples` limits the corpus by name, `seeds` is the number of random programs. `strict` is that
    of the oracle for the transformed program: True for passes after which every access outside
    memory is guarded.
    """

    samples: ClassVar[tuple[str, ...]] = tuple(corpus())
    seeds: ClassVar[int] = 40
    strict: ClassVar[bool | None] = None
    idempotent: ClassVar[bool] = True

    def apply(self, function: Function) -> Function:
        """The pass, with whatever context it needs."""
        raise NotImplementedError

    def _programs(self) -> list[tuple[Program, int]]:
        return [(random_program(seed), seed) for seed in range(self.seeds)]

    def _inputs(self) -> list[Function]:
        samples = [corpus()[name].function for name in self.samples]
        return [*samples, *(program.function for program, _ in self._programs())]

    def test_the_input_is_not_modified(self) -> None:
        for fn in self._inputs():
            before = print_function(fn)
            self.apply(fn)
            assert print_function(fn) == before

    def test_the_result_is_valid(self) -> None:
        for fn in self._inputs():
            found = verify(self.apply(fn))
            assert not found, f"{fn.name}:\n" + "\n".join(d.render() for d in found)

    def test_nothing_to_do_gives_the_same_object(self) -> None:
        for fn in self._inputs():
            once = self.apply(fn)
            assert once is fn or once != fn, f"{fn.name}: an equal copy where nothing changed"
            if self.idempotent:
                assert self.apply(once) is once, f"{fn.name}: a second run changes it again"

    def test_statements_keep_a_place(self) -> None:
        for name in self.samples:
            fn = corpus()[name].function
            placeless = [s for s in walk(self.apply(fn).body) if s.span is None]
            assert not placeless, f"{name}: {placeless[0]} has no span"

    def test_samples_keep_their_meaning(self) -> None:
        for name in self.samples:
            sample = corpus()[name]
            made = self.apply(sample.function)
            for dims in sample.sizes:
                args = sample.inputs(dims)
                want = run(sample.function, args)
                _compare_sample(sample, run(made, args, strict=self.strict), want)

    def test_random_programs_keep_their_meaning(self) -> None:
        for program, seed in self._programs():
            args = random_inputs(program.function, seed)
            want = run(program.function, args)
            got = run(self.apply(program.function), args, strict=self.strict)
            assert_all_close(got, want, program.tolerance)


class TargetConformance:
    """A target does what it says. `compile` is "module:attr" of a function (function, spec) ->
    artifact.

    `arch` is the description to compile for, the machine's own by default. `samples` limits the
    corpus by name; `seeds` is the number of random programs, `run_seeds` of those that are built
    and run too.
    """

    target: ClassVar[str]
    compile: ClassVar[str | Callable[..., Any]]
    arch: ClassVar[str | None] = None
    samples: ClassVar[tuple[str, ...]] = tuple(corpus())
    seeds: ClassVar[int] = 20
    run_seeds: ClassVar[int] = 5
    launch_limit: ClassVar[float] = 1.0
    """Seconds that a small kernel may take; more says that something is badly wrong."""

    def manifest(self) -> TargetManifest:
        """The target's manifest."""
        return load("tile.targets", self.target)

    def spec(self) -> TargetSpec:
        """The description to compile for."""
        arch = "" if self.arch is None else f" -arch={self.arch}"
        return find_spec(self.manifest(), parse_target(self.target + arch))

    def emitted(self, fn: Function) -> Any:
        """The artifact of a function."""
        compiler = self.compile
        compiler = resolve(compiler) if isinstance(compiler, str) else compiler
        return compiler(fn, self.spec())

    def emitted_or_skip(self, fn: Function) -> Any:
        """The artifact, or a skip when the target says, by a coded error, that it has no such
        thing.
        """
        try:
            return self.emitted(fn)
        except TileError as error:
            pytest.skip(f"not supported: {error.message}")

    def built(self, fn: Function, folder: Path) -> tuple[Any, Path]:
        """The artifact and the library that the toolchain makes of it; skips without one."""
        artifact = self.emitted_or_skip(fn)
        make = resolve(self.manifest().toolchain)
        requires(f"the toolchain of {self.target}", lambda: make(self.spec()).fingerprint())
        toolchain = make(self.spec())
        library = folder / f"{fn.name}{toolchain.suffix}"
        toolchain.compile(artifact, library)
        return artifact, library

    def call(
        self, launch: Callable[..., Any], fn: Function, args: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Call a loaded kernel. Override for a device with memory of its own."""
        return call_on_host(launch, fn, args)

    def loaded(self, fn: Function, folder: Path) -> Callable[..., Any]:
        """The entry of a built function; skips without a device."""
        artifact, library = self.built(fn, folder)
        make = resolve(self.manifest().runtime)
        requires(f"a device of {self.target}", lambda: make(self.spec()) is not None)
        launch: Callable[..., Any] = make(self.spec()).load(artifact, library)
        return launch

    def test_l0_the_manifest_resolves(self) -> None:
        manifest = self.manifest()
        assert manifest.name == self.target
        for name, ref in manifest.factories().items():
            assert resolve(ref) is not None, name

    def test_l0_a_description_is_found(self) -> None:
        assert self.spec().arch

    def test_l0_loading_the_manifest_loads_no_array_library(self) -> None:
        code = (
            "import sys; from tile_ir.plugin import load; "
            f"load('tile.targets', {self.target!r}); "
            "print([m for m in ('numpy', 'torch', 'networkx') if m in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "[]"

    @pytest.mark.parametrize("sample", list(corpus()))
    def test_l1_samples_are_emitted_or_refused_by_name(self, sample: str) -> None:
        self._wanted(sample)
        fn = corpus()[sample].function
        first = self.emitted_or_skip(fn)
        assert first.source == self.emitted(fn).source, "two compilations differ"

    def test_l1_random_programs_are_emitted_or_refused_by_name(self) -> None:
        emitted = 0
        for seed in range(self.seeds):
            try:
                emitted += bool(self.emitted(random_program(seed).function).source)
            except TileError:
                continue
        assert emitted, "not one random program was emitted"

    @pytest.mark.parametrize("sample", list(corpus()))
    def test_l3_samples_equal_the_oracle(self, sample: str, tmp_path: Path) -> None:
        self._wanted(sample)
        chosen = corpus()[sample]
        launch = self.loaded(chosen.function, tmp_path)
        for seed, dims in enumerate(chosen.sizes):
            args = chosen.inputs(dims, seed)
            want = run(chosen.function, args)
            _compare_sample(chosen, self.call(launch, chosen.function, args), want)

    def test_l3_random_programs_equal_the_oracle(self, tmp_path: Path) -> None:
        for seed in range(self.run_seeds):
            program = random_program(seed)
            launch = self.loaded(program.function, tmp_path)
            args = random_inputs(program.function, seed)
            want = run(program.function, args)
            assert_all_close(self.call(launch, program.function, args), want, program.tolerance)

    def test_l2_the_toolchain_takes_the_source(self, tmp_path: Path) -> None:
        _, library = self.built(corpus()["gemm_nn_f16"].function, tmp_path)
        assert library.stat().st_size > 0

    def test_l4_a_small_kernel_takes_little_time(self, tmp_path: Path) -> None:
        sample = corpus()["gemm_nn_f32"]
        launch = self.loaded(sample.function, tmp_path)
        args = sample.inputs(sample.sizes[0])
        self.call(launch, sample.function, args)
        start = time.perf_counter()
        self.call(launch, sample.function, args)
        assert time.perf_counter() - start < self.launch_limit

    def _wanted(self, sample: str) -> None:
        if sample not in self.samples:
            pytest.skip("left out by this target's `samples`")
