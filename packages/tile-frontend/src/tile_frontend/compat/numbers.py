"""Integer functions of the host side."""

from __future__ import annotations

__all__ = ["cdiv", "next_power_of_2"]


def cdiv(a: int, b: int) -> int:
    """The ceiling of a / b."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least n; 1 for n below 1."""
    return 1 << max(n - 1, 0).bit_length()
