"""Which description fits the GPU at hand."""

from __future__ import annotations

from tile_cuda import knobs, spec
from tile_ir.diag import TileError

__all__ = ["arch_for", "host_arch"]


def arch_for(major: int, minor: int) -> str:
    """The description whose code runs best on a device of this compute capability.

    Code for `sm_XYa` runs on exactly X.Y; other code also on later minors of the same major. Raises
    TileError E3014 where none fits.
    """
    exact = [name for name in spec.names() if _capability(name) == (major, minor)]
    if exact:
        return exact[-1]
    older = [
        name
        for name in spec.names()
        if not name.endswith("a") and _capability(name)[0] == major and _capability(name)[1] < minor
    ]
    if older:
        return older[-1]
    raise TileError(
        "E3014",
        f"no description fits a device of compute capability {major}.{minor}",
        notes=(f"described: {', '.join(spec.names())}",),
        help="Name the nearest one: target='cuda -arch=NAME'.",
    )


def _capability(name: str) -> tuple[int, int]:
    number = int(name.strip("sm_a"))
    return number // 10, number % 10


def host_arch() -> str:
    """The description for the current device; TILE_CUDA_ARCH overrides it.

    Raises TileError E3008 (no device), E3012 (no CuPy), E3014 (none fits).
    """
    asked = knobs.requested_arch()
    if asked is not None:
        return asked
    from tile_cuda import device  # only a device that is asked for needs the libraries

    return arch_for(*device.capability(device.current_device()))
