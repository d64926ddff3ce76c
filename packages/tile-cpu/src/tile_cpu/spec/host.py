"""Which description fits the machine we run on, found without starting a process.

Linux tells the features in /proc/cpuinfo under the names that the descriptions list; macOS has one
family of CPUs per architecture, so the machine's kind is enough there.
"""

from __future__ import annotations

import platform
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tile_cpu import knobs, spec

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["allowed_features", "best_arch", "host_arch", "host_features"]

MAC = {"arm64": "apple-m1", "x86_64": "x86-64-v3"}
"""Kind of Mac -> its description; every Mac of the second kind that still gets updates has AVX2."""

ASK_FOR_TILES = (158, 0x1023, 18)
"""Linux on x86-64: arch_prctl, ARCH_REQ_XCOMP_PERM, the state of tile registers. The answer holds
for the process and its threads."""


@cache
def host_features(cpuinfo: str = "/proc/cpuinfo") -> frozenset[str]:
    """Feature names of the first CPU that `cpuinfo` lists; empty where the file does not exist."""
    try:
        lines = Path(cpuinfo).read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def best_arch(features: frozenset[str], needs: Mapping[str, frozenset[str]]) -> str | None:
    """The architecture with the most `needs`, all of which `features` has; None where none fits."""
    fitting = [arch for arch, needed in needs.items() if needed <= features]
    return max(fitting, key=lambda arch: (len(needs[arch]), arch), default=None)


_NEEDED = re.compile(r"^  host_features: \[([^\]]*)\]", re.MULTILINE)


@cache
def _needs() -> dict[str, frozenset[str]]:
    """What each description needs of a host, by a look at its text: reading them all takes 50
    ms."""
    return {path.stem: _needed(path.read_text("utf-8")) for path in spec.folder().glob("*.yaml")}


def _needed(text: str) -> frozenset[str]:
    found = _NEEDED.search(text)
    return frozenset(found[1].replace(",", " ").split()) if found else frozenset()


def allowed_features(features: frozenset[str]) -> frozenset[str]:
    """The features that this process may use: Linux hands out registers of tiles (AMX) to those who
    ask, and may refuse."""
    if "amx_tile" in features and not _may_use_tiles():
        return frozenset(f for f in features if not f.startswith("amx_"))
    return features


@cache
def _may_use_tiles() -> bool:
    import ctypes  # only where there are such registers

    call = getattr(ctypes.CDLL(None), "syscall", None)
    return call is not None and call(*ASK_FOR_TILES) == 0


@cache
def _found_arch() -> str:
    machine = platform.machine()
    if platform.system() == "Darwin":
        return MAC.get(machine, "apple-m1")
    base = "aarch64" if machine.lower() in ("aarch64", "arm64") else "x86-64-v2"
    return best_arch(allowed_features(host_features()), _needs()) or base


def host_arch() -> str:
    """Name of the description for this machine; ``TILE_CPU_ARCH`` overrides what is found."""
    return knobs.requested_arch() or _found_arch()
