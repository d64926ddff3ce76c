"""Tensor maps for the bulk copy engine, made by the driver from an argument's address and shape.

The driver's function is pure arithmetic on the host. A map is remembered by what it was made from,
so that calling again with the same tensors costs one look-up. Constants and limits are those of
`cuTensorMapEncodeTiled` in the CUDA Driver API.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["MAP_BYTES", "ShapeMaps", "TensorMaps"]

MAP_BYTES = 128
ALIGNMENT = 64
GRANULARITY = 16
MAX_STRIDE = 1 << 40
MAX_EXTENT = 1 << 32
REMEMBERED = 256
"""Maps of one parameter; beyond them all are forgotten, since most tensors are seen again soon."""
ELEMENTS = {8: 0, 16: 1, 32: 2, 64: 4}
"""Bits -> CU_TENSOR_MAP_DATA_TYPE_UINT8, 16, 32, 64: copies move bits, whatever they mean."""
ADDED = {"f32": 7}
"""What an engine adds -> CU_TENSOR_MAP_DATA_TYPE_FLOAT32."""
SWIZZLES = {16: 0, 32: 1, 64: 2, 128: 3}
"""Bytes of an exchanged row -> CU_TENSOR_MAP_SWIZZLE_NONE, 32B, 64B, 128B."""
PROMOTION_128 = 2
"""CU_TENSOR_MAP_L2_PROMOTION_L2_128B: what comes from memory is cached in whole lines."""
EMPTY = bytes(MAP_BYTES)

Shape = tuple[int, ...]


class TensorMaps:
    """Makes the maps of one parameter of a kernel.

    `bits` of an element in memory, extents of the `box` innermost first, `row_bytes` as in the
    emitter; `kind` names the type of numbers that the engine adds, and is empty for copies.
    """

    def __init__(self, *, name: str, bits: int, box: Shape, row_bytes: int, kind: str = "") -> None:
        self.name = name
        self.element = max(bits, 8)
        self._type = ADDED[kind] if kind else ELEMENTS[self.element]
        self._box = (ctypes.c_uint32 * len(box))(*box)
        self._ones = (ctypes.c_uint32 * len(box))(*(1 for _ in box))
        self._swizzle = SWIZZLES[row_bytes]
        self._made: dict[tuple[int, Shape, Shape], bytes] = {}

    def __call__(self, address: int, extents: Shape, strides: Shape) -> bytes:
        """The map of a tensor: extents in elements, strides of all axes but the innermost in bytes,
        both innermost first.

        Raises TileError E3017 for a tensor that the engine does not take, E3016 where the driver
        is too old.
        """
        key = (address, extents, strides)
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= REMEMBERED:
                self._made.clear()
            found = self._made[key] = self._make(address, extents, strides)
        return found

    def of_shape(self, extents: Shape, strides: Shape) -> ShapeMaps:
        """Address -> map, for one shape; each is made when first asked for."""
        return ShapeMaps(self, extents, strides)

    def _make(self, address: int, extents: Shape, strides: Shape) -> bytes:
        if min(extents) < 1:
            return EMPTY  # nothing is copied from or to an empty tensor
        self._check(address, extents, strides)
        room = ctypes.create_string_buffer(MAP_BYTES + ALIGNMENT)
        start = -(-ctypes.addressof(room) // ALIGNMENT) * ALIGNMENT
        rank = len(extents)
        status = _encoder()(
            ctypes.c_void_p(start),
            self._type,
            ctypes.c_uint32(rank),
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * rank)(*extents),
            (ctypes.c_uint64 * max(rank - 1, 1))(*strides),
            self._box,
            self._ones,
            0,
            self._swizzle,
            PROMOTION_128,
            0,
        )
        if status:
            raise _refused(self.name, f"status {status} for extents {extents}, strides {strides}")
        return ctypes.string_at(start, MAP_BYTES)

    def _check(self, address: int, extents: Shape, strides: Shape) -> None:
        if address % GRANULARITY:
            self._unfit(f"its address is no multiple of {GRANULARITY}")
        for stride in strides:
            if stride % GRANULARITY or not 0 <= stride < MAX_STRIDE:
                self._unfit(f"a stride of {stride} bytes, no multiple of {GRANULARITY} below 2**40")
        if max(extents) > MAX_EXTENT:
            self._unfit(f"an extent of {max(extents)}, above 2**32")

    def _unfit(self, why: str) -> NoReturn:
        raise TileError(
            "E3017",
            f"{self.name} cannot be copied in boxes: {why}",
            help="Pass a tensor with aligned rows, or compile the generic variant of the kernel.",
        )


class ShapeMaps(dict[int, bytes]):
    """The maps of tensors of one shape by their addresses."""

    def __init__(self, maps: TensorMaps, extents: Shape, strides: Shape) -> None:
        super().__init__()
        self._key = (maps, extents, strides)

    def __missing__(self, address: int) -> bytes:
        maps, extents, strides = self._key
        if len(self) >= REMEMBERED:
            self.clear()
        made = self[address] = maps(address, extents, strides)
        return made


@cache
def _encoder() -> Any:
    """The driver's function. Raises TileError E3016 where the driver has none."""
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(library).cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise _refused("the driver", str(error)) from error


def _refused(name: str, why: str) -> TileError:
    return TileError(
        "E3016",
        f"the driver made no tensor map for {name}",
        notes=(why,),
        help="Update the driver to one for CUDA 12.0 or later.",
    )
