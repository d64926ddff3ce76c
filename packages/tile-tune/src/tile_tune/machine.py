"""The machine that a choice is for, in a few words: the device's name, or the host's processor."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_frontend.target_select import Target

__all__ = ["described"]


def described(target: Target) -> str:
    """What the target's kernels run on here: a device as its array library names it, a stand-in, or
    processor and cores. An absent device is "no device"."""
    if target.stand_in is not None:
        return str(target.stand_in.name)
    return _host() if target.device == "cpu" else _device(target.device)


@cache
def _host() -> str:
    return f"{_processor()}, {_cores()} cores"


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(x.split(":", 1)[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


@cache
def _device(kind: str) -> str:
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.get_device_module(kind).is_available():
            return str(torch.get_device_module(kind).get_device_name())
        import cupy

        name = getattr(cupy, kind).runtime.getDeviceProperties(0)["name"]
        return name.decode() if isinstance(name, bytes) else str(name)
    except Exception:  # no library, no driver, no device: each fails in its own way
        return "no device"
