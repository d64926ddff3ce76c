"""The GPU of this machine as a place for the programs of the tests, which hold numpy arrays.

Arrays travel as integers of their size, so that narrow floats need no counterpart in torch, and
keep their strides.
"""

import numpy as np
import pytest

import tile_frontend as tile
from tile_frontend.trace.element_types import numpy_dtype
from tile_ir import types
from tile_ir.diag import TileError

LACKING = ("E2013", "E3101")
"""What is said where torch has no type for an output, or the target none for a value."""


class Gpu:
    """Compiles for the GPU that torch finds, and calls kernels with tensors there. `listed` makes a
    list of what a kernel returns."""

    def __init__(self, torch, listed, device="cuda"):
        self.torch = torch
        self.listed = listed
        self.device = device

    def compiled(self, program):
        """The kernel of a traced function."""
        try:
            return tile.compile(program, target=self.device)
        except TileError as error:
            if error.code not in LACKING:
                raise
            return pytest.skip(f"{self.device}: {error.message}")

    def called(self, kernel, arrays):
        """The outputs as arrays; `arrays` are written in place. A kernel that was compiled for the
        CPU gets the arrays themselves."""
        if "cpu" in kernel.target.memory and self.device != "cpu":
            return self.listed(kernel(*arrays))
        sent = [self.sent(a) if isinstance(a, np.ndarray) else a for a in arrays]
        try:
            outputs = [self.tensor(o) for o in self.listed(kernel(*sent))]
        except TileError as error:
            if error.code not in LACKING:
                raise
            pytest.skip(f"{self.device}: {error.message}")
        for array, tensor in zip(arrays, sent, strict=True):
            if isinstance(array, np.ndarray) and array.size:
                array[...] = self.words_of(tensor).view(array.dtype)
        return [self.words_of(t).view(numpy_dtype(types.dtype(t.dtype))) for t in outputs]

    def sent(self, array):
        """A tensor with the same bytes and the same strides."""
        torch = self.torch
        words = np.ascontiguousarray(array).view(f"i{array.itemsize}").reshape(array.shape)
        plain = torch.from_numpy(words.copy())
        strides = [s // array.itemsize for s in array.strides]
        tensor = torch.empty_strided(array.shape, strides, dtype=plain.dtype, device=self.device)
        tensor.copy_(plain)
        return tensor.view(getattr(torch, array.dtype.name, torch.uint8))

    def tensor(self, output):
        """The output of a kernel without tensors may be another library's array."""
        known = isinstance(output, self.torch.Tensor)
        return output if known else self.torch.from_dlpack(output)

    def words_of(self, tensor):
        """The tensor's elements as integers of their size."""
        torch = self.torch
        kinds = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        return tensor.view(kinds[tensor.element_size()]).cpu().contiguous().numpy()
