"""Memory of the oracle: one numpy array for each buffer, poisoned until written.

Floats are poisoned with NaN, which spreads by itself. Types without a NaN get a bit pattern, and
the oracle keeps beside them which elements were written, so that a read of the others is an error
where it happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir import numerics
from tile_ir.numerics.array import to_numpy_dtype
from tile_ir.types import i64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.interp.threads import Trace
    from tile_ir.types import DType

Array = np.ndarray[Any, np.dtype[Any]]

_PATTERN = 0xA5A5A5A5A5A5A5A5
"""Large, odd and negative as a signed number: useless as an index, conspicuous in a result."""


@dataclass(slots=True)
class Storage:
    """The memory of one buffer; a ring buffer has its slots as leading axis, a vector type its
    lanes as last.

    `defined` says which elements were written, None when that is not tracked. `safe` is what a read
    outside gives.
    """

    name: str
    dtype: DType
    scope: str
    array: Array
    defined: Array | None = None
    safe: Any = 0
    trace: Trace | None = None
    """Who touched what since the last barrier, where threads share the memory."""

    def poison(self, index: tuple[Any, ...] = ()) -> None:
        """Make the contents (of the part at `index`) undefined."""
        self.array[index] = poison_value(self.dtype)
        if self.defined is not None:
            self.defined[index] = False

    def copy(self) -> Storage:
        """The same contents in memory of its own."""
        defined = None if self.defined is None else self.defined.copy()
        return Storage(self.name, self.dtype, self.scope, self.array.copy(), defined, self.safe)


def has_nan(dt: DType) -> bool:
    """Whether the type can say "undefined" by itself."""
    return dt.format is not None and dt.format.has_nan


_POISON: dict[DType, Any] = {}


def poison_value(dt: DType) -> Any:
    """The value that stands for undefined contents, in the container of `dt`."""
    found = _POISON.get(dt)
    if found is None:
        value = float("nan") if has_nan(dt) else numerics.decode(_PATTERN, dt.scalar)
        found = _POISON[dt] = to_numpy_dtype(dt).type(value)
    return found


def zero(dt: DType) -> Any:
    """Zero as a uniform value; in a type without a zero what zero converts to."""
    if dt.is_float:
        return to_numpy_dtype(dt).type(numerics.convert(0, i64, dt.scalar))
    return False if dt.is_bool else 0


def array_shape(shape: Sequence[int], dt: DType) -> tuple[int, ...]:
    """The shape of the array that holds elements of `dt`."""
    return (*shape, dt.lanes) if dt.lanes > 1 else tuple(shape)


def allocate(name: str, dt: DType, scope: str, shape: tuple[int, ...], track: bool) -> Storage:
    """Fresh poisoned memory; `track` keeps which elements were written where poison cannot tell."""
    full = array_shape(shape, dt)
    array = np.full(full, poison_value(dt), to_numpy_dtype(dt))
    defined = np.zeros(full, np.bool_) if track and not has_nan(dt) else None
    return Storage(name, dt, scope, array, defined, zero(dt))
