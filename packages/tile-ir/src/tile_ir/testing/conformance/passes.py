"""A pass keeps programs valid, keeps their meaning, does not touch its input, and settles."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from tile_ir.interp import run
from tile_ir.plugin import resolve
from tile_ir.rewrite import walk
from tile_ir.testing.compare import assert_all_close
from tile_ir.testing.conformance.base import Conformance, compare_sample
from tile_ir.testing.corpus import corpus
from tile_ir.testing.random import Program, random_inputs, random_program
from tile_ir.text import print_function
from tile_ir.verify import verify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function

__all__ = ["PassConformance"]

APPLY = "tile_passes.whole:apply_pass"
"""What runs a plugin's pass by its name. The package of the passes is not needed otherwise."""


class PassConformance(Conformance):
    """`plugin` is the name of an installed pass; for a pass that is none, or needs more than a
    plain description of a target, override `apply`.

    `samples` limits the corpus by name, `seeds` is the number of random programs. `strict` is that
    of the oracle for the transformed program: True for passes after which every access outside
    memory is guarded. `idempotent` says that a second run changes nothing.
    """

    levels = ("pure", "valid", "settled", "placed", "meaning")
    checks: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "test_the_input_is_not_modified": "pure",
            "test_the_result_is_valid": "valid",
            "test_nothing_to_do_gives_the_same_object": "settled",
            "test_statements_keep_a_place": "placed",
            "test_samples_keep_their_meaning": "meaning",
            "test_random_programs_keep_their_meaning": "meaning",
        }
    )
    plugin: ClassVar[str] = ""
    seeds: ClassVar[int] = 40
    strict: ClassVar[bool | None] = None
    idempotent: ClassVar[bool] = True

    @property
    def subject(self) -> str:
        """The pass by its name, or by the class that tests it."""
        return self.plugin or type(self).__name__

    def apply(self, function: Function) -> Function:
        """The pass, with whatever context it needs."""
        if not self.plugin:
            raise NotImplementedError("set `plugin`, or override `apply`")
        made: Function = resolve(APPLY)(self.plugin, function)
        return made

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
                compare_sample(sample, run(made, args, strict=self.strict), want)

    def test_random_programs_keep_their_meaning(self) -> None:
        for program, seed in self._programs():
            args = random_inputs(program.function, seed)
            want = run(program.function, args)
            got = run(self.apply(program.function), args, strict=self.strict)
            assert_all_close(got, want, program.tolerance)
