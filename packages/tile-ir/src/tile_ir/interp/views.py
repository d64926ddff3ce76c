"""Two names for one memory: `view` reads the same bits under another shape and dtype.

Where both types fill whole bytes of the container, numpy aliases the memory itself. 4-bit types
take a byte each here and half a byte in memory, so there the two names keep arrays of their own,
and whichever is used next is brought up to date from the one used last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tile_ir.interp.storage import Array, Storage, array_shape
from tile_ir.numerics.array import pack, to_numpy_dtype, unpack

if TYPE_CHECKING:
    from tile_ir.types import DType


class _Memory:
    """Arrays that stand for the same bits; the one handed out last is right."""

    def __init__(self, dt: DType, array: Array) -> None:
        self.forms: list[tuple[DType, Array]] = [(dt, array)]
        self.current = 0

    def add(self, dt: DType, shape: tuple[int, ...]) -> int:
        self.forms.append((dt, np.zeros(array_shape(shape, dt), to_numpy_dtype(dt))))
        return len(self.forms) - 1

    def get(self, form: int) -> Array:
        dt, array = self.forms[form]
        if form != self.current:
            old_dt, old = self.forms[self.current]
            array[...] = unpack(pack(old, old_dt.scalar), dt.scalar, array.shape)
            self.current = form
        return array


class _Alias(Storage):
    """A storage whose array is one form of a memory."""

    def __init__(self, like: Storage, name: str, dt: DType, memory: _Memory, form: int) -> None:
        self.memory, self.form = memory, form
        super().__init__(name, dt, like.scope, memory.forms[form][1], None, like.safe)

    @property
    def array(self) -> Array:
        """This form of the memory, brought up to date."""
        return self.memory.get(self.form)

    @array.setter
    def array(self, value: Array) -> None:
        """The forms are fixed when they are made."""


def view_of(
    source: Storage, name: str, dt: DType, shape: tuple[int, ...]
) -> tuple[Storage, Storage]:
    """The storage that names the memory of `source` anew, and the storage to use for `source` from
    now on.
    """
    if min(dt.scalar.storage_bits, source.dtype.scalar.storage_bits) >= 8:
        flat = source.array.reshape(-1).view(to_numpy_dtype(dt))
        array = flat.reshape(array_shape(shape, dt))
        return Storage(name, dt, source.scope, array, None, source.safe), source
    if not isinstance(source, _Alias):
        source = _Alias(source, source.name, source.dtype, _Memory(source.dtype, source.array), 0)
    form = source.memory.add(dt, shape)
    return _Alias(source, name, dt, source.memory, form), source
