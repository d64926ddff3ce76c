"""A wheel of an exported library: the library, its description, and a loader in Python."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sysconfig
import zipfile
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tile_frontend._version import __version__
from tile_frontend.export.parameters import c_scalar, long_name
from tile_ir.interp.bind import written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function, Param
    from tile_passes.launch.exported import Exporter

__all__ = ["description", "wheel_bytes", "wheel_name"]

EPOCH = (1980, 1, 1, 0, 0, 0)
LOADER = {"__main__.py": "command.py", "_library.py": "_library.py", "package.py": "package.py"}
"""Modules of a wheel, and which of `loader/` each is."""
INIT = """\
from .package import Kernel, KernelError, kernel

__all__ = ["Kernel", "KernelError", "kernel"]
"""
C_TYPES = {"_Bool": "c_bool", "float": "c_float", "double": "c_double"}


def wheel_name(name: str, version: str) -> str:
    """The file's name: for any Python 3 on this platform (PEP 427)."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{name}-{version}-py3-none-{platform}.whl"


def description(name: str, fn: Function, axes: int, exporter: Exporter) -> dict[str, Any]:
    """What the loader has to know of a library."""
    changed = {*written(fn), *fn.results}
    return {
        "name": name,
        "function": fn.name,
        "parameters": [_parameter(p, fn, changed) for p in fn.params],
        "results": list(fn.results),
        "axes": axes,
        "device": next((n.removesuffix(".py") for n in exporter.loader), ""),
    }


def _parameter(p: Param, fn: Function, changed: set[str]) -> dict[str, Any]:
    told: dict[str, Any] = {"name": p.name, "is_result": p.name in fn.results, "scalar": None}
    if p.scalar is None:
        assert p.buffer is not None
        return {**told, "type": long_name(p.buffer.dtype), "is_written": p.name in changed}
    t = p.scalar.dtype
    c_type = c_scalar(t)
    told |= {
        "scalar": long_name(t),
        "c_type": C_TYPES.get(c_type, f"c_{c_type.removesuffix('_t')}"),
    }
    if t.is_int:
        told["range"] = [t.min_value, t.max_value]
    return told


def wheel_bytes(
    name: str, version: str, about: Mapping[str, Any], binaries: Mapping[str, bytes],
    exporter: Exporter,
) -> bytes:  # fmt: skip
    """The wheel; equal contents give equal bytes. `binaries` are the library and its header."""
    loader = files("tile_frontend.export").joinpath("loader")
    inside = {to: loader.joinpath(source).read_bytes() for to, source in LOADER.items()}
    inside["__init__.py"] = INIT.encode()
    inside |= {n: text.encode() for n, text in exporter.loader.items()}
    inside |= {**binaries, "kernel.json": json.dumps(about, indent=1).encode()}
    tag = wheel_name(name, version).removesuffix(".whl").split("-", 2)[2]
    info = f"{name}-{version}.dist-info"
    content = {
        **{f"{name}/{n}": data for n, data in inside.items()},
        f"{info}/METADATA": _metadata(name, version, about["function"]).encode(),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: tile-frontend {__version__}\n"
            f"Root-Is-Purelib: false\nTag: {tag}\n"
        ).encode(),
    }
    rows = [f"{n},sha256={_digest(data)},{len(data)}" for n, data in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_DEFLATED) as archive:
        for n, data in content.items():
            entry = zipfile.ZipInfo(n, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return room.getvalue()


def _metadata(name: str, version: str, function: str) -> str:
    return (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: The kernel {function}, compiled.\nRequires-Python: >=3.10\n"
        "Requires-Dist: numpy>=1.24\n"
    )


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
