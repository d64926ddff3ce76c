"""GRAMMAR.md lists every statement with its attributes, as declared."""

import dataclasses
from pathlib import Path

import tile_ir.text
from tile_ir.opdef import ALL_STAGES, FIRST, OPS
from tile_ir.text.forms import form_of

GRAMMAR = Path(tile_ir.text.__file__).parent / "GRAMMAR.md"


def _since(version):
    return "" if version == FIRST else f"    since {version[0]}.{version[1]}"


def _entry(op):
    """The lines of an op: its form, an attribute per line, the stages that know it."""
    types = {f.name: str(f.type) for f in op.fields}
    lines = [op.syntax + _since(op.since)]
    for name, field in form_of(op).attributes.items():
        required = field.default is dataclasses.MISSING
        default = "" if required else f" = {field.default!r}"
        lines.append(f"    {name}: {types[name]}{default}{_since(field.changes.since)}")
    if op.stages != ALL_STAGES:
        lines.append("    stages " + ", ".join(sorted(s.value for s in op.stages)))
    return "\n".join(lines)


def test_the_grammar_lists_every_statement():
    listed = GRAMMAR.read_text().partition("```text\n")[2].rpartition("```")[0]
    ours = [op for op in OPS.values() if op.cls.__module__.startswith("tile_ir.")]
    assert listed == "".join(_entry(op) + "\n" for op in ours)
