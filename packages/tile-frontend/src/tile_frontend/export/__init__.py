"""Kernels as libraries that run without these packages: C sources, a shared library, a wheel."""

from __future__ import annotations

import keyword
import re
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend import driver
from tile_frontend.export.cases import cases_of
from tile_frontend.export.library import Variant, header_text, library_text
from tile_frontend.export.makefile import makefile_text
from tile_frontend.export.parameters import signature_of
from tile_frontend.export.wheel import description, wheel_bytes, wheel_name
from tile_frontend.target_select import select
from tile_frontend.trace.places import here
from tile_ir.diag import TileError
from tile_ir.plugin import resolve
from tile_passes.launch.exported import Built, Unit
from tile_passes.launch.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_frontend.export.cases import Case
    from tile_frontend.kernel import JITKernel
    from tile_frontend.target_select import Target
    from tile_passes.launch.exported import Exporter, Linker

__all__ = ["FORMATS", "export"]

FORMATS = ("c", "so", "wheel")
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_TAKEN = sys.stdlib_module_names | {"numpy"}
"""Modules that a package must not hide: its loader imports of them."""
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9.]*[a-z0-9])?\Z")
"""A version in normal form (PEP 440), as the names of wheels have it."""


def export(
    kernels: Sequence[JITKernel],
    path: str | Path,
    format: str = "so",
    *,
    name: str | None = None,
    targets: Sequence[Any] = (),
    plain: bool = True,
    self_check: Any = None,
    tolerance: float | None = None,
    version: str = "0.1.0",
) -> Path:
    """Write kernels as one library, which chooses among them by the arguments and the machine.

    Args:
        kernels: variants of one function, the preferred ones first.
        path: "c": the folder that receives sources, header and Makefile. "so": the library
            (`lib.so`; its header lies beside it), or a folder for it. "wheel": the folder.
        format: "c", "so" or "wheel".
        name: of the library, its C functions, the Python package; by default the function's.
        targets: further architectures of the same target, for each of which every kernel is built.
        plain: whether variants for any address and distance of rows are built, where the others
            ask for more.
        self_check: argument lists as calls take them; None or True: made up; False: none are
            stored.
        tolerance: of the self-check, relative; by default that of the outputs' types.
        version: of the wheel, numbers as in "1.2" or "1.2rc1" (PEP 440).

    Returns the library, the wheel, or the folder.

    Raises TileError: E2401 where the target does not make the form, E2402 for kernels that are not
    variants of one function, E2403 where no self-check can be made, E2409 for a bad name or
    version, E0803 where the files cannot be written, and what compiling raises.
    """
    if format not in FORMATS:
        raise TileError("E2401", f"format={format!r}", here(), help=f"it is one of {FORMATS}")
    _check_kernels(kernels)
    stem = _checked_name(name if name is not None else kernels[0].function.name.lower(), format)
    if format == "wheel":
        _check_version(version)
    exporter = _exporter(kernels[0].target)
    if format in exporter.refused:
        raise TileError(
            "E2401",
            f"the target {kernels[0].target.manifest.name} makes no {format}",
            here(),
            notes=(exporter.refused[format],),
            help='format="c" gives sources and machine code',
        )
    variants = _variants(stem, kernels, targets, plain)
    if format == "c" and exporter.refused:
        return _write_parts(Path(path), variants)
    cases = [] if self_check is False else _cases(kernels, self_check, tolerance)
    units = _units(stem, variants, cases, exporter)
    if format == "c":
        return _write_sources(Path(path), stem, units, variants, exporter)
    if format == "so":
        return _write_library(Path(path), stem, units, exporter)
    return _write_wheel(Path(path), stem, version, units, variants, exporter)


def _checked_name(name: str, format: str) -> str:
    why = "it is a lower-case letter, then letters, digits and _, and no keyword of Python"
    if _NAME.match(name) and not keyword.iskeyword(name):
        is_ours = name == "tile" or name.startswith("tile_")
        if not is_ours and not (format == "wheel" and name in _TAKEN):
            return name
        why = "the library's own names begin with tile_" if is_ours else "Python has such a module"
    raise TileError(
        "E2409",
        f"{name!r} cannot name a library",
        here(),
        notes=(why,),
        help='pass another, as in name="gemm"',
    )


def _check_version(version: Any) -> None:
    if not (isinstance(version, str) and _VERSION.match(version)):
        raise TileError(
            "E2409", f"{version!r} is no version of a package", here(), help='write it as in "1.2"'
        )


def _check_tolerance(tolerance: Any) -> None:
    if tolerance is not None and not (isinstance(tolerance, (int, float)) and tolerance >= 0):
        raise TileError(
            "E2403", f"tolerance={tolerance!r}", here(), help="it is a number from zero up"
        )


def _check_kernels(kernels: Sequence[Any]) -> None:
    if not kernels:
        raise TileError(
            "E2402", "there is no kernel to export", here(), help="call or compile it first"
        )
    strange = next((k for k in kernels if not hasattr(k, "made_with")), None)
    if strange is not None:
        raise TileError(
            "E2402", f"{strange!r} is no compiled kernel", here(), help="pass what compile() gives"
        )
    first = kernels[0]
    for other in kernels[1:]:
        same_device = other.target.manifest.name == first.target.manifest.name
        if same_device and signature_of(other.function) == signature_of(first.function):
            continue
        raise TileError(
            "E2402",
            f"{other!r} is no variant of {first!r}",
            here(),
            notes=("variants have the same parameters and outputs, and one kind of device",),
            help="export it under a name of its own",
        )


def _exporter(target: Target) -> Exporter:
    if target.manifest.export is None:
        raise TileError(
            "E2401",
            f"the target {target.manifest.name} exports no kernels",
            here(),
            help="`kernel.export_sources(path)` writes the generated source",
        )
    made: Exporter = resolve(target.manifest.export)(target.spec)
    return made


def _linker() -> Linker:
    """What compiles C for this machine: the target of the host."""
    made: Any = _exporter(select("cpu"))
    linker: Linker = made
    return linker


def _variants(
    stem: str, kernels: Sequence[JITKernel], targets: Sequence[Any], plain: bool
) -> list[Variant]:
    """The special ones first: by architecture, newest first, then in the order given."""
    fast = [_native(k) for k in kernels]
    fast += [_for_target(k, select(t)) for t in targets for k in kernels]
    fast.sort(key=lambda k: -_exporter(k.target).rank)
    general = [k.plain for k in fast if plain and k.has_plain]
    return [_variant(f"{stem}_{i}", k) for i, k in enumerate([*fast, *general])]


def _native(kernel: JITKernel) -> JITKernel:
    """The kernel as its target's own toolchain builds it, where an emulator stands in for it."""
    if kernel.target.stand_in is None:
        return kernel
    native = replace(kernel.target, stand_in=None)
    return kernel.build(kernel.function, native, *kernel.made_with)


def _for_target(kernel: JITKernel, target: Target) -> JITKernel:
    if target.manifest.name != kernel.target.manifest.name:
        raise TileError(
            "E2402",
            f"{target} is another kind of device than {kernel.target}",
            here(),
            help="`targets` names further architectures of the kernel's own target",
        )
    return kernel.build(kernel.function, target, None, kernel.made_with[1])


def _variant(symbol: str, kernel: JITKernel) -> Variant:
    pins, flags = kernel.made_with
    built = Built(
        symbol=symbol,
        artifact=kernel.compiled.artifact,
        path=kernel.compiled.library_path,
        flags=tuple(flags),
        lowered=partial(_lowered, kernel, pins),
    )
    decision = kernel.variant_decision()
    text = f"{kernel.function.name} for {kernel.target}, {decision.value}: {decision.reason}"
    part = _exporter(kernel.target).part(built)
    return Variant(symbol=symbol, binder=kernel.binder, text=text, part=part)


def _lowered(kernel: JITKernel, pins: Any) -> Any:
    return driver.lowered(kernel.function, kernel.target, pins)[0].lowered


def _cases(kernels: Sequence[JITKernel], given: Any, tolerance: float | None) -> list[Case]:
    _check_tolerance(tolerance)
    if given is not None and given is not True:
        # Arguments of any variant may be among them: each goes to the first that takes it.
        return [case for args in given for case in _case_of(kernels, args, tolerance)]
    return [case for kernel in kernels for case in cases_of(kernel, None, tolerance)]


def _case_of(kernels: Sequence[JITKernel], args: Any, tolerance: float | None) -> list[Case]:
    for kernel in kernels[:-1]:
        try:
            return cases_of(kernel, [args], tolerance)
        except TileError:
            continue
    return cases_of(kernels[-1], [args], tolerance)


def _units(
    stem: str, variants: Sequence[Variant], cases: Sequence[Case], exporter: Exporter
) -> list[Unit]:
    fn = variants[0].binder.function
    own = [
        Unit(name=f"{stem}.h", text=header_text(stem, fn, exporter)),
        Unit(name=f"{stem}.c", text=library_text(stem, variants, cases, exporter), flags=("-O2",)),
    ]
    return [*own, *(unit for v in variants for unit in v.part.units)]


def _write_parts(folder: Path, variants: Sequence[Variant]) -> Path:
    """Sources and machine code of a target whose kernels we do not launch from C."""
    for v in variants:
        for unit in v.part.units:
            _write(folder / unit.name, unit.text.encode())
        for file, data in v.part.files.items():
            _write(folder / file, data)
    return folder


def _write_sources(
    folder: Path, stem: str, units: Sequence[Unit], variants: Sequence[Variant], exporter: Exporter
) -> Path:
    _write_parts(folder, variants)
    for unit in units:
        _write(folder / unit.name, unit.text.encode())
    makefile = makefile_text(stem, units, _linker().command(), exporter.libraries)
    _write(folder / "Makefile", makefile.encode())
    return folder


def _write_library(path: Path, stem: str, units: Sequence[Unit], exporter: Exporter) -> Path:
    out = path if path.suffix == ".so" else path / f"{stem}.so"
    _linker().link(units, out, exporter.libraries)
    header = next(u for u in units if u.name == f"{stem}.h")
    _write(out.with_name(header.name), header.text.encode())
    return out


def _write_wheel(
    folder: Path,
    stem: str,
    version: str,
    units: Sequence[Unit],
    variants: Sequence[Variant],
    exporter: Exporter,
) -> Path:
    buffers = (p.buffer for v in variants for p in v.binder.function.params)
    axes = max((b.rank for b in buffers if b is not None), default=1)
    about = description(stem, variants[0].binder.function, axes, exporter)
    with tempfile.TemporaryDirectory() as room:
        built = _write_library(Path(room, f"{stem}.so"), stem, units, exporter)
        binaries = {p.name: p.read_bytes() for p in (built, built.with_suffix(".h"))}
    out = folder / wheel_name(stem, version)
    _write(out, wheel_bytes(stem, version, about, binaries, exporter))
    return out


def _write(path: Path, data: bytes) -> None:
    """A file that others may read as well, whole or not at all."""
    write_atomically(path, data, "E0803")
    path.chmod(0o644)
