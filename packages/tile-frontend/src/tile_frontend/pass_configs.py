"""Settings of another compiler's passes: the few that mean something here, and for each other one
a warning with the reason why it does not.

The keys are data (`pass_configs.txt`).
"""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

__all__ = ["CompatibilityWarning", "PassSettings", "read_pass_configs"]

_CODE = "E1119"
_UNKNOWN = "it names a pass of another compiler"


class CompatibilityWarning(UserWarning):
    """A setting for another compiler was accepted without effect."""


@dataclass(frozen=True, slots=True)
class PassSettings:
    """What settings for another compiler's passes come to: flags of the device compiler, a folder
    for the program's text."""

    compile_flags: tuple[str, ...] = ()
    debug_root_path: str | None = None


@cache
def _keys() -> dict[str, tuple[str, str]]:
    """Key -> what it does here, and why it has no effect."""
    text = files(__package__).joinpath("pass_configs.txt").read_text("utf-8")
    rows = [line.split("|") for line in text.splitlines() if "|" in line and line[0] != "#"]
    return {key.strip(): (effect.strip(), why.strip()) for key, effect, why in rows}


def read_pass_configs(*given: Mapping[Any, Any] | None) -> PassSettings:
    """What settings mean together; later ones win. Warns with E1119 for one without effect, unless
    it is off."""
    configs = {_text(k): v for mapping in given if mapping for k, v in mapping.items()}
    flags: tuple[str, ...] = ()
    folder, dump = "./dump_ir", False
    for key, value in configs.items():
        effect, why = _keys().get(key, ("-", _UNKNOWN))
        if effect == "flags":
            flags = (value,) if isinstance(value, str) else tuple(value or ())
        elif effect == "dump":
            dump = bool(value)
        elif effect == "dump folder":
            folder = str(value)
        elif value not in (None, False):
            text = f"warning[{_CODE}]: {key} has no effect: {why}"
            warnings.warn(text, CompatibilityWarning, stacklevel=_outside())
    return PassSettings(flags, folder if dump else None)


def _outside() -> int:
    """How far up the user's frame is, seen from the caller: the first one outside this package."""
    frame: FrameType | None = sys._getframe(1)
    level, own = 1, os.path.dirname(__file__)
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame, level = frame.f_back, level + 1
    return level


def _text(key: Any) -> str:
    """The key as text, of a member of `PassConfigKey` too."""
    return str(getattr(key, "value", key))
