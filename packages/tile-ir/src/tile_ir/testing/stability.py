"""What a released version of the IR promised, as data, and whether today's ops still keep it.

A snapshot has what texts of stage `tile` may say: ops with their forms and fields, functions,
element types, and the words that attributes take. It is taken at a release and never edited.
Whoever has ops of their own may keep snapshots of those in the same way.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.core import SCOPES, Stage
from tile_ir.functions import FUNCTIONS
from tile_ir.opdef import OPS, OpDef, changes
from tile_ir.ops.control import DEALS
from tile_ir.schema import NEWER_WORDS, SCHEMA_VERSION
from tile_ir.types import ALL_DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.opdef import Version

__all__ = ["broken_promises", "snapshot"]

Snapshot = dict[str, Any]

WORDS = {
    "reduce.kind": ops.REDUCE_KINDS,
    "scan.kind": ops.SCAN_KINDS,
    "gemm.policy": ops.GEMM_POLICIES,
    "for.kind": ops.LOOP_KINDS,
    "tiles.claim": ops.CLAIMS,
    "tiles.deal": DEALS,
    "atomic.kind": ops.ATOMIC_KINDS,
    "atomic.order": ops.MEMORY_ORDERS,
    "buffer.scope": SCOPES,
}
"""Attribute -> the words that it takes."""


def snapshot(version: Version = SCHEMA_VERSION, package: str = "tile_ir.") -> Snapshot:
    """What texts of a version may say, as JSON data; `package` begins the module of the ops."""
    own = (op for op in OPS.values() if op.cls.__module__.startswith(package))
    kept = (op for op in own if Stage.TILE in op.stages and op.since <= version)
    words = {name: [w for w in given if _is_of(w, version)] for name, given in WORDS.items()}
    return {
        "version": list(version),
        "ops": {op.name: _op(op, version) for op in kept},
        "functions": {
            f.name: [f.arity, f.on, f.result] for f in FUNCTIONS.values() if _is_of(f.name, version)
        },
        "words": {**words, "type": [t.name for t in ALL_DTYPES if _is_of(t.name, version)]},
    }


def _is_of(word: str, version: Version) -> bool:
    return NEWER_WORDS.get(word, version) <= version


def _op(op: OpDef, version: Version) -> dict[str, Any]:
    fields = {
        f.name: {"kind": f.metadata["kind"], "type": str(f.type), "default": _default(f)}
        for f in op.fields
        if changes(f).since <= version
    }
    return {"syntax": op.syntax, "stages": sorted(s.value for s in op.stages), "fields": fields}


def _default(f: dataclasses.Field[Any]) -> str:
    return "" if f.default is dataclasses.MISSING else repr(f.default)


def broken_promises(old: Snapshot) -> list[str]:
    """Where today's ops say something else than a snapshot's version, each with what to do."""
    version = (old["version"][0], old["version"][1])
    now = snapshot()
    said = [*_gone(old["functions"], now["functions"], "function")]
    for name, words in old["words"].items():
        said += _gone(dict.fromkeys(words), dict.fromkeys(now["words"][name]), f"{name} =")
    for name, before in old["ops"].items():
        op = OPS.get(name)
        if op is None or name not in now["ops"]:
            said.append(f"op {name} is gone: keep it, and let its page say what to use instead")
        else:
            said += _changed(op, before, now["ops"][name])
    return said + list(_unmarked(old, version))


def _gone(old: Mapping[str, Any], new: Mapping[str, Any], what: str) -> Iterator[str]:
    for name, value in old.items():
        if name not in new or new[name] != value:
            yield f"{what} {name} is gone or changed: keep it, and add another beside it"


def _changed(op: OpDef, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if old["syntax"] != new["syntax"]:
        yield f"the form of {op.name} changed: older texts have `{old['syntax']}`; add attributes"
    if not set(old["stages"]) <= set(new["stages"]):
        yield f"{op.name} is not of all the stages that it was of: {', '.join(old['stages'])}"
    told = {f.name: changes(f) for f in op.fields}
    names = {c.was[1]: n for n, c in told.items() if c.was is not None}
    for name, before in old["fields"].items():
        field = new["fields"].get(names.get(name, name))
        if field is None:
            fix = f'keep it, or give its new name was=((1, {SCHEMA_VERSION[1]}), "{name}")'
            yield f"{name} of {op.name} is gone: {fix}"
            continue
        moved = told[names.get(name, name)]
        if field["default"] != before["default"] and moved.before is None and not op.upgrades:
            fix = f"say before=((1, {SCHEMA_VERSION[1]}), {before['default']})"
            yield f"{name} of {op.name} left out means {field['default']} now: {fix}"
        if (field["kind"], field["type"]) != (before["kind"], before["type"]):
            yield f"{name} of {op.name} was {before['kind']} {before['type']}: add another field"


def _unmarked(old: Snapshot, version: Version) -> Iterator[str]:
    """What the version did not have and says that it did."""
    fix = f"say since=({version[0]}, {version[1] + 1}), and raise SCHEMA_VERSION to that"
    then = snapshot(version)
    for name, op in then["ops"].items():
        if name not in old["ops"]:
            yield f"op {name} is new: {fix}"
            continue
        told = {f.name: changes(f) for f in OPS[name].fields}
        for field in op["fields"]:
            was = told[field].was
            known = field if was is None else was[1]
            if known not in old["ops"][name]["fields"]:
                yield f"{field} of {name} is new: {fix}"
    for name, words in [*then["words"].items(), ("function", then["functions"])]:
        before = old["functions"] if name == "function" else old["words"][name]
        for word in words:
            if word not in before:
                yield f"{name} {word} is new: name it in NEWER_WORDS with its version"
