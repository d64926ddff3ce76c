"""Every pass says what it does by an example in its docstring, and the example is run."""

from __future__ import annotations

import json
import re
import textwrap

import pytest

from tile_ir.testing.specs import toy_folder
from tile_passes.cli import optimize
from tile_passes.registry import BUILTIN, builtin

_EXAMPLE = re.compile(
    r"^(?:    pipeline: (?P<pipeline>.*)\n)?(?:    pins: (?P<pins>.*)\n)?"
    r"(?:    target: (?P<target>.*)\n)?"
    r"    before:\n(?P<before>(?:        .*\n|\s*\n)+)"
    r"    after:\n(?P<after>(?:        .*\n|\s*\n)+)",
    re.MULTILINE,
)


def examples(name: str) -> list[tuple[str, str, str, str, str]]:
    doc = builtin(name).doc
    return [
        (
            m["pipeline"] or name,
            m["pins"] or "{}",
            m["target"] or "async",
            textwrap.dedent(m["before"]).strip() + "\n",
            textwrap.dedent(m["after"]).strip(),
        )
        for m in _EXAMPLE.finditer(doc + "\n")
    ]


REWRITES = [name for name in BUILTIN if builtin(name).rewrite is not None]


@pytest.mark.parametrize("name", REWRITES)
def test_the_example_of_the_docstring_holds(name: str) -> None:
    found = examples(name)
    assert found, f"pass {name} has no before/after example"
    for pipeline, pins, arch, before, after in found:
        header = "" if before.startswith("tile.ir") else "tile.ir 1.0 tile\n"
        target = str(toy_folder() / f"{arch}-toy.yaml")
        got = optimize(header + before, pipeline, target, pins=json.loads(pins))
        assert got.split("\n", 1)[1].strip() == after


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_a_pass_is_named_like_its_file_and_documented(name: str) -> None:
    module = BUILTIN[name].split(":", maxsplit=1)[0]
    assert module.rsplit(".", 1)[1].replace("_", "-") == name
    assert builtin(name).name == name
    assert len(builtin(name).doc.strip().splitlines()[0]) > 20
