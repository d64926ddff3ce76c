"""The Makefile beside exported sources: each file with the flags that it was made for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_passes.launch.exported import Unit

__all__ = ["makefile_text"]


def makefile_text(
    stem: str, units: Sequence[Unit], flags: Sequence[str], libraries: Sequence[str]
) -> str:
    """`make` builds `STEM.so`. CC is GCC or Clang, 12 or newer."""
    compiled = [u for u in units if u.name.endswith(".c")]
    objects = " ".join(f"{u.name.removesuffix('.c')}.o" for u in compiled)
    lines = [
        f"COMMON = {' '.join(flags)}",
        "",
        f"{stem}.so: {objects}",
        f"\t$(CC) -shared -o $@ $^ {' '.join(libraries)}",
        "",
    ]
    for unit in compiled:
        made = f"{unit.name.removesuffix('.c')}.o"
        lines += [
            f"{made}: {unit.name} {stem}.h",
            f"\t$(CC) $(COMMON) {' '.join(unit.flags)} -c -o $@ $<",
            "",
        ]
    return "\n".join([*lines, ".PHONY: clean", "clean:", f"\trm -f {stem}.so {objects}", ""])
