"""Names that kernels written for other compilers of this language import, kept so that they run
unchanged.
"""

from __future__ import annotations

from enum import IntEnum


class _AnyKey(type):
    def __getattr__(cls, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return name.lower()


class TensorSupplyType(IntEnum):
    """How inputs of a profiler are made. Accepted everywhere; they are made as under Auto."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


class PassConfigKey(metaclass=_AnyKey):
    """Keys of `pass_configs=`.

    Each exists and none has an effect: they name passes of another compiler.
    """
