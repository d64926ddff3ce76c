"""The memory image of arrays: order of nibbles, slots wider than the type, round trips."""

import math

import numpy as np
import pytest

from tile_ir.diag import InternalError
from tile_ir.numerics import literal_bits
from tile_ir.numerics.array import convert_array, pack, to_numpy_dtype, unpack
from tile_ir.types import ALL_DTYPES, dtype, f32, i4, i8, tf32, u4

NIBBLES = [t for t in ALL_DTYPES if t.storage_bits == 4]


def ramp(t, count):
    """`count` different small values in the container of `t`."""
    return convert_array((np.arange(count) % 7).astype(np.int8), i8, t)


@pytest.mark.parametrize("t", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (3, 5), (2, 3, 4)])
def test_unpack_inverts_pack(t, shape):
    x = ramp(t, math.prod(shape)).reshape(shape)
    image = pack(x, t)
    assert image.dtype == np.uint8
    assert image.size == -(-math.prod(shape) * t.storage_bits // 8)
    for buffer in (image, image.tobytes(), bytearray(image.tobytes())):
        back = unpack(buffer, t, shape)
        assert back.dtype == to_numpy_dtype(t)
        assert back.shape == shape
        assert back.astype(np.float64).tolist() == x.astype(np.float64).tolist()


@pytest.mark.parametrize("t", ALL_DTYPES, ids=str)
def test_the_image_is_the_literals_in_order(t):
    x = ramp(t, 6)
    slot = t.storage_bits
    literals = [literal_bits(v, t) for v in x.astype(np.float64).tolist()]
    whole = sum(bits << (slot * k) for k, bits in enumerate(literals))
    assert pack(x, t).tobytes() == whole.to_bytes(6 * slot // 8, "little")


def test_the_even_element_is_the_low_nibble():
    x = np.array([1, 2, 15, 0, 7], np.uint8).astype(to_numpy_dtype(u4))
    assert pack(x, u4).tolist() == [0x21, 0x0F, 0x07]
    y = np.array([-1, -8, 3], np.int8).astype(to_numpy_dtype(i4))
    assert pack(y, i4).tolist() == [0x8F, 0x03]
    z = np.array([0.5, -6.0], np.float32).astype(to_numpy_dtype(dtype("f4e2m1fn")))
    assert pack(z, dtype("f4e2m1fn")).tolist() == [0xF1]
    assert pack(z, dtype("f4e2m1fn_unpacked")).tolist() == [0x01, 0x0F]


@pytest.mark.parametrize("t", NIBBLES, ids=str)
def test_every_byte_of_nibbles(t):
    image = np.arange(256, dtype=np.uint8)
    assert pack(unpack(image, t, (512,)), t).tolist() == image.tolist()


def test_strided_arrays_are_packed_in_row_major_order():
    x = np.arange(12, dtype=np.float32).reshape(3, 4).T
    assert unpack(pack(x, f32), f32, (4, 3)).tolist() == x.tolist()


def test_bits_of_a_slot_beyond_the_type_are_ignored():
    assert unpack(b"\xff\x02\x00", dtype("bool"), (3,)).tolist() == [True, True, False]
    dirty = np.array([1 + 2.0**-23], np.float32)
    assert unpack(dirty.tobytes(), tf32, (1,)).tolist() == [1.0]
    assert float(unpack(b"\xf7", dtype("f4e2m1fn_unpacked"), (1,))[0]) == 6.0
    assert float(unpack(b"\xc8", dtype("f6e2m3fn"), (1,))[0]) == 1.0


def test_vectors_are_their_lanes_in_order():
    pairs = dtype("f16x2")
    x = np.array([[1, 2], [3, 4]], np.float16)
    assert pack(x, pairs).tobytes() == x.tobytes()
    assert unpack(x.tobytes(), pairs, (2, 2)).tolist() == x.tolist()


def test_an_unpacked_array_is_a_copy():
    image = np.zeros(4, np.uint8)
    values = unpack(image, f32, (1,))
    values[0] = 1.0
    assert image.tolist() == [0, 0, 0, 0]


def test_a_short_image_and_a_wrong_container_are_our_mistakes():
    with pytest.raises(InternalError, match="1 bytes hold no 3 values of i4"):
        unpack(b"\x00", i4, (3,))
    with pytest.raises(InternalError, match="float64 where f32"):
        pack(np.zeros(1), f32)
