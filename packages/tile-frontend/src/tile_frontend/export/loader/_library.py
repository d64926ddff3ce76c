"""A compiled kernel in a shared library: called with arrays, it checks and runs them.

Arrays are numpy's, or anything that speaks DLPack. Needs numpy only; types that numpy lacks come
as arrays of ml_dtypes, or bfloat16 as its bits in uint16.
"""

from __future__ import annotations

import ctypes
import json
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Kernel", "KernelError"]


class KernelError(ValueError):
    """A call that failed: `code` is as in E2002, the text says what is wrong, and with what."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"E{code:04d}: {message}")
        self.code = f"E{code:04d}"


class _Tensor(ctypes.Structure):
    """DLTensor of DLPack."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_KINDS = {"b": 6, "i": 0, "u": 1, "f": 2}
_NARROW = {
    "bfloat16": 4,
    "float8_e3m4": 7,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
    "float6_e2m3fn": 15,
    "float6_e3m2fn": 16,
    "float4_e2m1fn": 17,
}
"""Type codes of DLPack 1.1 by the letter, or else the name, of a numpy dtype."""
_BITS = {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}
_LETTERS = {6: "bool", 0: "int", 1: "uint", 2: "float"}
_CODES = {code: name for name, code in _NARROW.items()}


def _kind_of(dtype: Any) -> tuple[int, int] | None:
    """Code and bits of a numpy dtype; None for one that DLPack has not, as of swapped bytes."""
    name = dtype.name
    if not dtype.isnative:
        return None
    if name in _NARROW:
        return _NARROW[name], _BITS.get(name, 8 * int(dtype.itemsize))
    if dtype.kind in _KINDS:
        return _KINDS[dtype.kind], 8 * int(dtype.itemsize)
    return None


def _name_of(code: int, bits: int) -> str:
    """The name of a type in array libraries."""
    letter = _LETTERS.get(code)
    return _CODES[code] if letter is None else letter if letter == "bool" else f"{letter}{bits}"


def _host_dtype(name: str) -> Any:
    """The numpy dtype of that name, of ml_dtypes where numpy has none, else of its bits."""
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        return np.dtype(getattr(import_module("ml_dtypes"), name))
    except ImportError:
        return np.dtype(np.uint16 if name == "bfloat16" else np.uint8)


class Kernel:
    """The kernel of the library in a folder, beside `kernel.json`, which describes it."""

    def __init__(self, folder: Path) -> None:
        self.about: dict[str, Any] = json.loads((folder / "kernel.json").read_text("utf-8"))
        name = self.about["name"]
        self.name: str = name
        self._library = ctypes.CDLL(str(folder / f"{name}.so"))
        self._device = None
        if self.about["device"]:
            self._device = import_module(f"{name}.{self.about['device']}")
        for text in (f"{name}_message", f"{name}_variant"):
            getattr(self._library, text).restype = ctypes.c_char_p
        taken = [self._c_type(p) for p in self.about["parameters"]]
        self._run = self._function("run", [*taken, ctypes.c_void_p])
        self._outputs = self._function("outputs", [*taken, ctypes.POINTER(_Tensor)])
        self.inputs = [p for p in self.about["parameters"] if not p["is_result"]]

    def _c_type(self, parameter: dict[str, Any]) -> Any:
        if parameter["scalar"] is None:
            return ctypes.POINTER(_Tensor)
        return getattr(ctypes, parameter["c_type"])

    def _function(self, suffix: str, taken: list[Any]) -> Any:
        found = getattr(self._library, f"{self.name}_{suffix}")
        found.argtypes, found.restype = taken, ctypes.c_int32
        return found

    def __call__(self, *args: Any, out: Any = None, stream: int | None = None) -> Any:
        """Run the kernel on its inputs, in order, and return its outputs: one array, a list of
        several, or None. `out` gives the outputs' memory, `stream` the handle of a stream.

        Raises KernelError for arguments that do not fit and for launches that fail.
        """
        if len(args) != len(self.inputs):
            names = ", ".join(p["name"] for p in self.inputs)
            raise KernelError(2001, f"{self.name} takes {len(self.inputs)} arguments ({names}), "
                              f"got {len(args)}")  # fmt: skip
        given = {p["name"]: self._value(p, a) for p, a in zip(self.inputs, args, strict=True)}
        results = self._results(given, args, out)
        for name, array in zip(self.about["results"], results, strict=True):
            given[name] = self._tensor(self._parameter(name), array)
        if stream is None and self._device is not None:
            stream = self._device.current_stream(args)
        self._done(self._run(*self._ordered(given), stream))
        return None if not results else results[0] if len(results) == 1 else results

    def _parameter(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(p for p in self.about["parameters"] if p["name"] == name)
        return found

    def _ordered(self, given: dict[str, Any]) -> list[Any]:
        values = (given.get(p["name"]) for p in self.about["parameters"])
        return [v.pointer if isinstance(v, _Held) else v for v in values]

    def _done(self, status: int) -> None:
        if status:
            raise KernelError(status, self.message())

    def message(self) -> str:
        """What the last call of this thread has to say."""
        text: bytes = getattr(self._library, f"{self.name}_message")()
        return text.decode(errors="replace")

    def self_check(self, device: int = 0) -> str:
        """Run every variant for this machine on stored inputs, compare with stored outputs, and
        say what was checked. Raises KernelError where something differs."""
        self._done(getattr(self._library, f"{self.name}_self_check")(ctypes.c_int32(device)))
        return self.message()

    def variants(self) -> list[str]:
        """What each variant of the library is for."""
        count = getattr(self._library, f"{self.name}_variants")()
        texts = (getattr(self._library, f"{self.name}_variant")(i) for i in range(count))
        return [text.decode() for text in texts]

    def used(self) -> int:
        """The number of the variant that this thread's last call ran, -1 before the first."""
        return int(getattr(self._library, f"{self.name}_used")())

    # -- arguments

    def _value(self, p: dict[str, Any], value: Any) -> Any:
        if p["scalar"] is not None:
            return _scalar(p, value)
        return None if value is None else self._tensor(p, value)

    def _tensor(self, p: dict[str, Any], array: Any) -> _Held:
        if isinstance(array, np.ndarray):
            return _of_numpy(p, array)
        if self._device is not None:
            held = self._device.tensor_of(array, _Tensor)
            if held is not None:
                return _Held(*held)
        if not hasattr(array, "__dlpack__"):
            raise KernelError(2009, f"argument {p['name']!r} is an object of type "
                              f"{type(array).__name__}, the kernel expects an array")  # fmt: skip
        return _of_dlpack(p, array)

    def _results(self, given: dict[str, Any], args: Any, out: Any) -> list[Any]:
        names = self.about["results"]
        if out is not None:
            found = list(out) if isinstance(out, (list, tuple)) else [out]
            if len(found) != len(names):
                raise KernelError(2001, f"{self.name} has {len(names)} outputs, got {len(found)}")
            return found
        if not names:
            return []
        rows = (_Tensor * len(names))()
        shapes = [(ctypes.c_int64 * max(self.about["axes"], 1))() for _ in names]
        for row, shape in zip(rows, shapes, strict=True):
            row.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        self._done(self._outputs(*self._ordered(given), rows))
        example = next((a for p, a in zip(self.inputs, args, strict=True)
                        if p["scalar"] is None and a is not None), None)  # fmt: skip
        return [
            self._empty(example, tuple(shape[: row.ndim]), _name_of(row.code, row.bits))
            for row, shape in zip(rows, shapes, strict=True)
        ]

    def _empty(self, example: Any, shape: tuple[int, ...], name: str) -> Any:
        """A new array of the library, and on the device, of an argument."""
        if type(example).__module__.partition(".")[0] == "torch":
            torch = sys.modules["torch"]
            return torch.empty(shape, dtype=getattr(torch, name), device=example.device)
        if self._device is not None:
            return self._device.empty(example, shape, name)
        return np.empty(shape, _host_dtype(name))


class _Held:
    """A tensor for one call, with what keeps it alive."""

    def __init__(self, pointer: Any, *owners: Any) -> None:
        self.pointer = pointer
        self.owners = owners


def _of_numpy(p: dict[str, Any], array: Any) -> _Held:
    kind = _kind_of(array.dtype)
    if array.dtype == np.uint16 and p["type"] == "bfloat16":
        kind = _NARROW["bfloat16"], 16
    size = array.dtype.itemsize
    if kind is None:
        raise KernelError(2002, f"argument {p['name']!r} has element type {array.dtype}, "
                          f"the kernel expects {p['type']}")  # fmt: skip
    if p["is_written"] and not array.flags.writeable:
        raise KernelError(2012, f"argument {p['name']!r} is read-only, but the kernel writes to it")
    if any(s % size for s in array.strides):
        raise KernelError(2006, f"the strides of argument {p['name']!r} are no whole elements")
    rank = array.ndim
    shape = (ctypes.c_int64 * max(rank, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(rank, 1))(*(s // size for s in array.strides))
    int64s = ctypes.POINTER(ctypes.c_int64)
    tensor = _Tensor(
        array.ctypes.data, 1, 0, rank, *kind, 1,
        ctypes.cast(shape, int64s), ctypes.cast(strides, int64s), 0,
    )  # fmt: skip
    return _Held(ctypes.pointer(tensor), tensor, shape, strides, array)


def _of_dlpack(p: dict[str, Any], array: Any) -> _Held:
    if hasattr(array, "detach"):  # a tensor that a gradient is wanted of is not exported
        array = array.detach()
    if getattr(array, "is_neg", bool)():  # of torch: the memory holds the opposite numbers
        raise KernelError(2009, f"argument {p['name']!r} is negated when it is read: pass "
                          "tensor.resolve_neg()")  # fmt: skip
    try:
        capsule = _capsule_of(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        text = f"argument {p['name']!r} is not given away by its library: {error}"
        raise KernelError(2009, text) from error
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    # A capsule holds a DLManagedTensor, whose first member is the tensor.
    tensor = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_Tensor))
    held = tensor.contents
    if not held.data and all(held.shape[: held.ndim]):
        # While torch traces a function, tensors stand for others.
        raise KernelError(2009, f"argument {p['name']!r} is a {type(array).__name__} without "
                          "memory")  # fmt: skip
    return _Held(tensor, capsule, array)


def _capsule_of(array: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        # The method of a tensor refuses one that is not on the current device; this does not.
        return torch.utils.dlpack.to_dlpack(array)
    on_host = array.__dlpack_device__()[0] == 1
    # Streams are the caller's: -1 asks the exporter for no synchronization of its own.
    return array.__dlpack__() if on_host else array.__dlpack__(stream=-1)


def _scalar(p: dict[str, Any], value: Any) -> Any:
    """A number of the parameter's kind and range."""
    if isinstance(value, (np.generic, np.ndarray)) and value.shape == ():
        value = value.item()
    kind = p["scalar"]
    is_bool = isinstance(value, bool)
    if kind == "bool" and is_bool:
        return value
    if kind.startswith(("float", "bfloat", "tfloat")) and isinstance(value, (int, float)):
        beyond = 2**1024 - 2**970 if kind == "float64" else 2**128 - 2**103  # rounds to infinity
        if not is_bool and not beyond <= abs(value) != float("inf"):
            return float(value)
    elif kind.startswith(("int", "uint")) and isinstance(value, int) and not is_bool:
        low, high = p["range"]
        if low <= value <= high:
            return value
    raise KernelError(2010, f"argument {p['name']!r} is {value!r}, the kernel expects a {kind}")
