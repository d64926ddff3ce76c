"""What a user asks for: the text form of a target, `"cpu -arch=x86-64-v4 -key=value"`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.typed_yaml import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TargetRequest", "parse_target"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRequest:
    """What a user asked for: a target's name, perhaps an architecture, other options as text."""

    name: str
    arch: str | None = None
    options: Table[str] = field(default_factory=Table)

    def __str__(self) -> str:
        words = [self.name]
        words += [f"-arch={self.arch}"] if self.arch else []
        words += [f"-{key}={self.options[key]}" for key in sorted(self.options)]
        return " ".join(words)


_TARGET_NAME = re.compile(r"[a-z][\w-]*\Z")
_OPTION = re.compile(r"--?([A-Za-z][\w-]*)(?:=(\S*))?\Z")


def parse_target(target: str | Mapping[str, object] | TargetRequest) -> TargetRequest:
    """Return `target` as a request: `"cpu -arch=x86-64-v4 -key=value -flag"`, or a mapping with
    `kind` (or `name`), `arch` and options. A flag's value is `"true"`.

    Raises `TileError` E0915 when it is neither.
    """
    if isinstance(target, TargetRequest):
        return target
    if isinstance(target, str):
        words = target.split()
        return _request(words[0] if words else "", [_option(word, target) for word in words[1:]])
    given = {str(key): str(value) for key, value in target.items()}
    name = given.pop("kind", None) or given.pop("name", "")
    return _request(name, list(given.items()))


def _option(word: str, target: str) -> tuple[str, str]:
    match = _OPTION.match(word)
    if match is None:
        raise _bad_target(f"{word!r} in {target!r} is not -key=value or -flag")
    return match[1], "true" if match[2] is None else match[2]


def _request(name: str, options: list[tuple[str, str]]) -> TargetRequest:
    if not _TARGET_NAME.match(name):
        raise _bad_target(f"{name!r} is not the name of a target")
    table = dict(options)
    if len(table) < len(options):
        raise _bad_target(f"an option of target {name!r} is given twice")
    arch = table.pop("arch", None)
    return TargetRequest(name=name, arch=arch, options=Table(table))


def _bad_target(why: str) -> TileError:
    return TileError("E0915", why, help="write the target as in 'cpu -arch=x86-64-v4'")
