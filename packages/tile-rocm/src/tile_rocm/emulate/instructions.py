"""Matrix instructions by the names of their builtins: shapes, types and which lanes hold what."""

from __future__ import annotations

import re

__all__ = ["definitions", "known_builtins"]

MATRIX = re.compile(
    r"__builtin_amdgcn_(?P<unit>mfma|mfma_scale|wmma)_(?P<result>f16|f32|f64|i32)"
    r"_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_?(?P<operands>f8f6f4|[a-z]+\d+(?:_[a-z]+8)?)"
    r"(?:_1k)?(?P<eleven>_w32)?(?P<twelve>_gfx12)?$"
)
BUILTIN = re.compile(r"__builtin_amdgcn_\w+")
TYPES = {
    "f16": "HIP_F16",
    "bf16": "HIP_BF16",
    "f32": "HIP_F32",
    "xf32": "HIP_F32",
    "f64": "HIP_F64",
    "i8": "HIP_S8",
    "i32": "HIP_S32",
    "fp8": "HIP_FP8",
    "bf8": "HIP_BF8",
}
INTEGERS = {"iu8": ("HIP_S8", "HIP_U8"), "iu4": ("HIP_S4", "HIP_U4")}
"""Signed and unsigned type, by an argument in front of each operand."""
SCALED = ("hip_format(fa)", "hip_format(fb)")
FNUZ = frozenset({"gfx942"})
"""Architectures whose 8-bit floats have neither infinity nor negative zero."""


def known_builtins(source: str, support: str) -> set[str]:
    """The builtins in `source` that have a meaning."""
    return set(BUILTIN.findall(support)) | {b for b in BUILTIN.findall(source) if MATRIX.match(b)}


def definitions(source: str, arch: str) -> str:
    """C++ text that defines the matrix instructions in `source`, and which 8-bit floats there are;
    `arch` (`gfx942`) is what the source may ask for, too."""
    kinds = ("E4M3FNUZ", "E5M2FNUZ") if arch in FNUZ else ("E4M3", "E5M2")
    lines = [
        f"#define __{arch}__ 1",
        f"#define HIP_FP8 HIP_{kinds[0]}",
        f"#define HIP_BF8 HIP_{kinds[1]}",
    ]
    for name in sorted(set(BUILTIN.findall(source))):
        found = MATRIX.match(name)
        if found:
            lines.append(_definition(name, found))
    return "\n".join(lines)


def _definition(name: str, found: re.Match[str]) -> str:
    parts = found.groupdict()
    shape = f"{parts['m']}, {parts['n']}, {parts['k']}"
    head = f"hip_matrix<{shape}, {_form(parts)}, {TYPES[parts['result']]}>"
    label, kind = f'"{name.removeprefix("__builtin_amdgcn_")}"', parts["operands"]
    if kind == "f8f6f4":
        return _function(name, "A a, B b, C c, int fa, int fb, R...", head, label, SCALED)
    if kind in INTEGERS:
        signed, plain = INTEGERS[kind]
        types = tuple(f"s{x} ? {signed} : {plain}" for x in "ab")
        return _function(name, "bool sa, A a, bool sb, B b, C c, R...", head, label, types)
    a, _, b = kind.partition("_")
    types = (TYPES[a], TYPES[b or a])
    return _function(name, "A a, B b, C c, R...", head, label, types)


def _function(name: str, taken: str, head: str, label: str, types: tuple[str, ...]) -> str:
    a, b = types
    return (
        "template <class A, class B, class C, class... R>\n"
        f"EMU_INLINE C {name}({taken}) {{\n  return {head}({label}, {a}, a, {b}, b, c);\n}}"
    )


def _form(parts: dict[str, str]) -> str:
    if parts["unit"] == "wmma":
        return "HIP_WMMA" if parts["twelve"] else "HIP_WMMA_DOUBLE"
    return "HIP_MFMA_F64" if parts["result"] == "f64" else "HIP_MFMA"
