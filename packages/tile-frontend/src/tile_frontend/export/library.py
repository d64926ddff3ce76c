"""The C text of a library: its header, and the file that checks arguments, chooses a variant and
checks itself."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from tile_frontend.export.cases import Case, case_text
from tile_frontend.export.checks import check_text
from tile_frontend.export.parameters import c_scalar, long_name, slot_of
from tile_ir.codes import catalogue
from tile_passes.emit.host_c_exprs import HELPERS
from tile_passes.emit.names import c_name, c_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tile_frontend.bind import Binder
    from tile_ir.core import Function, Param
    from tile_passes.launch.exported import Exporter, Part

__all__ = ["Variant", "header_text", "library_text", "statuses"]

CHECKED = (
    "E2002", "E2003", "E2004", "E2005", "E2006", "E2007", "E2008", "E2010", "E2011", "E2016",
    "E2403", "E2406", "E2407", "E2408",
)  # fmt: skip
"""What a call of any library may return, as numbers; a target adds its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One kernel of a library: what its names begin with, its parameters and demands, what it is in
    words, and the target's part."""

    symbol: str
    binder: Binder
    text: str
    part: Part


def statuses(exporter: Exporter) -> dict[int, str]:
    """What the functions of a library return: number of the code -> its title."""
    titles = catalogue()
    codes = sorted({*CHECKED, *exporter.statuses})
    return {0: "success", **{int(code[1:]): titles[code][0] for code in codes}}


def _read(name: str) -> str:
    return files("tile_frontend.export").joinpath("c").joinpath(name).read_text("utf-8")


_TAKEN = frozenset({"args", "device", "i", "results", "stream", "t"})


def _named(fn: Function) -> list[tuple[str, Param]]:
    """Parameters under names that C, and the functions' own text, leave to them."""
    taken, named = set(_TAKEN), []
    for i, p in enumerate(fn.params):
        name = c_name(p.name) if p.name.isascii() else f"a{i}"
        while name in taken:
            name += "_"
        taken.add(name)
        named.append((name, p))
    return named


def _prototypes(name: str, fn: Function) -> list[tuple[str, str, str]]:
    """What the library offers: return type and name, parameters, what it does."""
    taken = ", ".join(
        f"const tile_tensor *{at}" if p.scalar is None else f"{c_scalar(p.scalar.dtype)} {at}"
        for at, p in _named(fn)
    )
    taken += ", " if taken else ""
    return [
        (f"int32_t {name}_run", f"{taken}void *stream", _ABOUT_RUN),
        (f"int32_t {name}_outputs", f"{taken}tile_tensor *results", _ABOUT_OUTPUTS),
        (f"int32_t {name}_self_check", "int32_t device", _ABOUT_SELF_CHECK),
        (f"const char *{name}_message", "void", "What the last call of this thread has to say."),
        (f"int32_t {name}_used", "void", "The variant of this thread's last launch, or -1."),
        (f"int32_t {name}_variants", "void", "How many variants there are."),
        (f"const char *{name}_variant", "int32_t i", "What a variant is for; NULL beyond them."),
    ]


_ABOUT_RUN = """Checks the arguments and runs the first variant that takes them. Tensors are only
 * read here; their data is written where the kernel does. `stream` orders the work on a device; a
 * host finishes before it returns and ignores it. A device returns at once. Any thread may call."""
_ABOUT_OUTPUTS = """Extents and types of the outputs for these inputs, whose own places are NULL.
 * `shape` of each result is room of the caller's, for as many axes as the output has."""
_ABOUT_SELF_CHECK = """Runs every variant for this machine on stored inputs and compares with stored
 * outputs."""


def header_text(name: str, fn: Function, exporter: Exporter) -> str:
    """The header of a library: what it takes and returns."""
    listed = "".join(f"\n *   {_shown(p)}" for p in fn.params)
    enumerators = [
        f"  {f'{name.upper()}_E{number:04d}' if number else f'{name.upper()}_OK'} = {number},"
        f" /* {title} */"
        for number, title in statuses(exporter).items()
    ]
    lines = [
        f"/* The kernel {fn.name}. Parameters, in order:{listed or ' none'}",
        " * Of tensors narrower than a byte the last extent is in bytes.",
        f" * Outputs, which the caller allocates: {', '.join(fn.results) or 'none'}. */",
        f"#ifndef {name.upper()}_H",
        f"#define {name.upper()}_H",
        "#include <stdint.h>",
        "",
        _read("tensor.h"),
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"enum {name}_status {{",
        *enumerators,
        "};",
        "",
    ]
    for head, taken, about in _prototypes(name, fn):
        lines += [f"/* {about} */", f"{head}({taken});", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "#endif", ""])


def _shown(p: Param) -> str:
    if p.scalar is not None:
        return f"{p.name}, {long_name(p.scalar.dtype)}"
    assert p.buffer is not None
    extents = ", ".join(str(e) for e in p.buffer.shape)
    strides = ", ".join(str(e) for e in p.buffer.strides or ())
    return f"{p.name}, {long_name(p.buffer.dtype)}({extents})" + (
        f" with strides ({strides})" if strides else ""
    )


def library_text(
    name: str, variants: Sequence[Variant], cases: Sequence[Case], exporter: Exporter
) -> str:
    """The library's own C file."""
    fn = variants[0].binder.function
    parts = [
        "#define _GNU_SOURCE 1",
        *(f"#include <{h}.h>" for h in ("math", "stdarg", "stdint", "stdio", "stdlib", "string")),
        f'#include "{name}.h"',
        "",
        _read("checks.c"),
        HELPERS,
        exporter.runtime(),
        *(v.part.text for v in variants),
        *(check_text(v.symbol, v.binder) for v in variants),
        *_constants(variants, cases, exporter),
        _read("dispatch.c"),
        _read("self_check.c"),
        case_text(cases),
        "static const struct tile_variant tile_variants[TILE_VARIANTS] = {",
        *(
            f"    {{{c_string(v.text)}, {v.symbol}_fits, {v.symbol}_check, {v.symbol}_results, "
            f"{v.symbol}_run}},"
            for v in variants
        ),
        "};",
        "",
        *_public(name, fn),
    ]
    return "\n".join(parts)


def _constants(
    variants: Sequence[Variant], cases: Sequence[Case], exporter: Exporter
) -> Iterator[str]:
    fn = variants[0].binder.function
    tensors = [p.name for p in fn.params if p.buffer is not None]
    dims = max(len(v.binder.function.dims) for v in variants)
    buffers = [p.buffer for v in variants for p in v.binder.function.params if p.buffer is not None]
    axes = max((b.rank for b in buffers), default=1)
    counts = {
        "TENSORS": len(tensors), "VARIANTS": len(variants), "CASES": len(cases),
        "SLOTS": max(len(fn.params) + dims, 1), "AXES": max(axes, 1),
    }  # fmt: skip
    yield f"enum {{ {', '.join(f'TILE_{k} = {v}' for k, v in counts.items())} }};"
    names = "".join(f"{c_string(n)}, " for n in tensors)
    yield f"static const char *const tile_tensor_names[] = {{{names}NULL}};"
    kinds = "".join(f"{n}, " for n in exporter.device_types)
    yield f"static const int32_t tile_device_types[] = {{{kinds}0}};"
    yield ""


def _public(name: str, fn: Function) -> Iterator[str]:
    """The functions of the header."""
    bodies = {
        "run": [*_packed(fn), "return tile_call(t, args, stream);"],
        "outputs": [*_packed(fn), "return tile_outputs(t, args, results);"],
        "self_check": ["return tile_check_all(device);"],
        "message": ["return tile_text;"],
        "used": ["return tile_used;"],
        "variants": ["return TILE_VARIANTS;"],
        "variant": ["return i >= 0 && i < TILE_VARIANTS ? tile_variants[i].text : NULL;"],
    }
    for head, taken, _ in _prototypes(name, fn):
        body = bodies[head.rpartition(f"{name}_")[2]]
        yield f'__attribute__((visibility("default"))) {head}({taken}) {{'
        yield from (f"  {line}" for line in body)
        yield "}"
        yield ""


def _packed(fn: Function) -> Iterator[str]:
    """Tensors as `t`, scalars in their slots of `args`."""
    tensors = "".join(f"{at}, " for at, p in _named(fn) if p.buffer is not None)
    yield f"const tile_tensor *const t[] = {{{tensors}NULL}};"
    yield "uint64_t args[TILE_SLOTS] = {0};"
    for i, (at, p) in enumerate(_named(fn)):
        if p.scalar is None:
            continue
        dtype = p.scalar.dtype
        if dtype.is_int and dtype.bits < 8:
            yield f"if ({at} < {dtype.min_value} || {at} > {dtype.max_value})"
            yield f"  return tile_refuse(2010, \"argument '{p.name}' is %d\", (int){at});"
        yield f"args[{i}] = {slot_of(dtype, at)};"
