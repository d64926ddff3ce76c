"""Names that kernels written for other compilers of this language import, kept so that they run
unchanged.
"""

from __future__ import annotations

from enum import IntEnum

_RENAMED = {
    "TL_SIMPLIFY": "tl.Simplify",
    "TL_DISABLE_SAFE_MEMORY_ACCESS": "tl.disable_safe_memory_legalize",
    "TL_DUMP_IR_DIR": "tl.dump_ir_path",
}
"""Members whose keys do not follow from their names."""


class _AnyKey(type):
    def __getattr__(cls, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return _RENAMED.get(name) or name.lower().replace("_", ".", 1)


class TensorSupplyType(IntEnum):
    """How inputs of a profiler are made; `tile_frontend.supplies` says what each means."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


class PassConfigKey(metaclass=_AnyKey):
    """Keys of `pass_configs=`.

    Each exists; `pass_configs.txt` says which have an effect here. Example:
    `PassConfigKey.TL_ENABLE_FAST_MATH` is "tl.enable_fast_math".
    """
