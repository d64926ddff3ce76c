"""A target does what it says: its manifest, its source, what its toolchain makes of it, results."""

from __future__ import annotations

import subprocess
import sys
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.plugin import load, resolve
from tile_ir.target import find_spec, parse_target
from tile_ir.testing.compare import assert_all_close
from tile_ir.testing.conformance.base import Conformance, Refused, compare_sample, refuse
from tile_ir.testing.corpus import corpus
from tile_ir.testing.host_memory import call_on_host
from tile_ir.testing.random import random_inputs, random_program
from tile_ir.testing.requires import requires

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tile_ir.core import Function
    from tile_ir.plugin import TargetManifest
    from tile_ir.target import TargetSpec

__all__ = ["TargetConformance"]


class TargetConformance(Conformance):
    """`target` is the name of an installed target. `compile` is "module:attr" of a function
    (function, spec) -> artifact, by default the target's own pipeline and emitter.

    `arch` is the description to compile for, the machine's own by default. `samples` limits the
    corpus by name; `seeds` is the number of random programs, `run_seeds` of those that are built
    and run too.
    """

    levels = ("manifest", "emit", "compile", "run", "timing")
    checks: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "test_the_manifest_resolves": "manifest",
            "test_a_description_is_found": "manifest",
            "test_loading_the_manifest_loads_no_array_library": "manifest",
            "test_samples_are_emitted_or_refused_by_name": "emit",
            "test_random_programs_are_emitted_or_refused_by_name": "emit",
            "test_the_toolchain_takes_the_source": "compile",
            "test_samples_equal_the_oracle": "run",
            "test_random_programs_equal_the_oracle": "run",
            "test_a_small_kernel_takes_little_time": "timing",
        }
    )
    target: ClassVar[str]
    compile: ClassVar[str | Callable[..., Any]] = "tile_passes.whole:compile_function"
    arch: ClassVar[str | None] = None
    seeds: ClassVar[int] = 20
    run_seeds: ClassVar[int] = 5
    launch_limit: ClassVar[float] = 1.0
    """Seconds that a small kernel may take; more says that something is badly wrong."""

    @property
    def subject(self) -> str:
        """The target as one asks for it."""
        return self.target + ("" if self.arch is None else f" -arch={self.arch}")

    def manifest(self) -> TargetManifest:
        """The target's manifest."""
        return load("tile.targets", self.target)

    def spec(self) -> TargetSpec:
        """The description to compile for."""
        return find_spec(self.manifest(), parse_target(self.subject))

    def emitted(self, fn: Function) -> Any:
        """The artifact of a function."""
        compiler = self.compile
        compiler = resolve(compiler) if isinstance(compiler, str) else compiler
        return compiler(fn, self.spec())

    def emitted_or_skip(self, fn: Function) -> Any:
        """The artifact; the check ends as refused when the target says, by a coded error, that it
        has no such thing.
        """
        self.spec()  # a target without a description has refused nothing
        try:
            return self.emitted(fn)
        except TileError as error:
            refuse(error)

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

    def test_the_manifest_resolves(self) -> None:
        manifest = self.manifest()
        assert manifest.name == self.target
        for name, ref in manifest.factories().items():
            assert resolve(ref) is not None, name

    def test_a_description_is_found(self) -> None:
        assert self.spec().arch

    def test_loading_the_manifest_loads_no_array_library(self) -> None:
        code = (
            "import sys; from tile_ir.plugin import load; "
            f"load('tile.targets', {self.target!r}); "
            "print([m for m in ('numpy', 'torch') if m in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "[]"

    @pytest.mark.parametrize("sample", list(corpus()))
    def test_samples_are_emitted_or_refused_by_name(self, sample: str) -> None:
        self._wanted(sample)
        fn = corpus()[sample].function
        first = self.emitted_or_skip(fn)
        assert first.source == self.emitted(fn).source, "two compilations differ"

    def test_random_programs_are_emitted_or_refused_by_name(self) -> None:
        emitted = 0
        for seed in range(self.seeds):
            try:
                emitted += bool(self.emitted(random_program(seed).function).source)
            except TileError:
                continue
        assert emitted, "not one random program was emitted"

    def test_the_toolchain_takes_the_source(self, tmp_path: Path) -> None:
        _, library = self.built(corpus()["gemm_nn_f16"].function, tmp_path)
        assert library.stat().st_size > 0

    @pytest.mark.parametrize("sample", list(corpus()))
    def test_samples_equal_the_oracle(self, sample: str, tmp_path: Path) -> None:
        self._wanted(sample)
        chosen = corpus()[sample]
        launch = self.loaded(chosen.function, tmp_path)
        for seed, dims in enumerate(chosen.sizes):
            args = chosen.inputs(dims, seed)
            want = run(chosen.function, args)
            compare_sample(chosen, self.call(launch, chosen.function, args), want)

    def test_random_programs_equal_the_oracle(self, tmp_path: Path) -> None:
        equal = 0
        for seed in range(self.run_seeds):
            program = random_program(seed)
            try:
                self.emitted(program.function)
            except TileError:
                continue
            launch = self.loaded(program.function, tmp_path)
            args = random_inputs(program.function, seed)
            want = run(program.function, args)
            assert_all_close(self.call(launch, program.function, args), want, program.tolerance)
            equal += 1
        if not equal:
            raise Refused(f"none of {self.run_seeds} programs is emitted")

    def test_a_small_kernel_takes_little_time(self, tmp_path: Path) -> None:
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
