"""The functions of HIP that the runtime needs, as CuPy and as hip-python offer them.

Both raise an exception where HIP answers with an error; `errors` says of which types.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

__all__ = ["Binding", "CupyBinding", "HipPythonBinding"]


class Binding(Protocol):
    """HIP's runtime and module functions. Devices are ordinals, the rest are handles."""

    errors: tuple[type[Exception], ...]

    def get_device(self) -> int:
        """hipGetDevice."""

    def set_device(self, device: int) -> None:
        """hipSetDevice."""

    def arch_name(self, device: int) -> str:
        """gcnArchName of hipGetDeviceProperties."""

    def multiprocessors(self, device: int) -> int:
        """multiProcessorCount of hipGetDeviceProperties."""

    def load_module(self, code: bytes) -> Any:
        """hipModuleLoadData."""

    def unload_module(self, module: Any) -> None:
        """hipModuleUnload."""

    def get_function(self, module: Any, name: str) -> Any:
        """hipModuleGetFunction."""

    def launch(self, function: Any, blocks: int, threads: int, stream: int, pointers: int) -> None:
        """hipModuleLaunchKernel; `pointers` is the address of an array of pointers to arguments."""


class CupyBinding:
    """CuPy's build for ROCm, whose driver module calls HIP."""

    def __init__(self, driver: Any, runtime: Any) -> None:
        self._driver, self._runtime = driver, runtime
        self.errors: tuple[type[Exception], ...] = (driver.CUDADriverError,)

    @classmethod
    def found(cls) -> CupyBinding:
        """The installed one. Raises ImportError where CuPy is absent or not built for ROCm."""
        driver, runtime = (
            import_module(f"cupy_backends.cuda.api.{name}") for name in ("driver", "runtime")
        )
        if not runtime.is_hip:
            raise ImportError("CuPy is installed, but not built for ROCm")
        return cls(driver, runtime)

    def get_device(self) -> int:
        return int(self._runtime.getDevice())

    def set_device(self, device: int) -> None:
        self._runtime.setDevice(device)

    def arch_name(self, device: int) -> str:
        name: bytes = self._runtime.getDeviceProperties(device)["gcnArchName"]
        return name.decode()

    def multiprocessors(self, device: int) -> int:
        return int(self._runtime.getDeviceProperties(device)["multiProcessorCount"])

    def load_module(self, code: bytes) -> Any:
        self._runtime.free(0)  # makes the context of the device, which modules need
        return self._driver.moduleLoadData(code)

    def unload_module(self, module: Any) -> None:
        self._driver.moduleUnload(module)

    def get_function(self, module: Any, name: str) -> Any:
        return self._driver.moduleGetFunction(module, name)

    def launch(self, function: Any, blocks: int, threads: int, stream: int, pointers: int) -> None:
        self._driver.launchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, 0)


class HipFailedError(Exception):
    """HIP answered with an error, whose name is the message."""


class HipPythonBinding:
    """The package hip-python, whose functions give a status and results."""

    errors: tuple[type[Exception], ...] = (HipFailedError,)

    def __init__(self, hip: Any) -> None:
        self._hip = hip

    @classmethod
    def found(cls) -> HipPythonBinding:
        """The installed one. Raises ImportError where there is none."""
        return cls(import_module("hip.hip"))

    def _checked(self, answer: Any) -> Any:
        status, *results = answer
        if status != self._hip.hipError_t.hipSuccess:
            raise HipFailedError(str(status))
        return results[0] if results else None

    def _properties(self, device: int) -> Any:
        properties = self._hip.hipDeviceProp_t()
        self._checked(self._hip.hipGetDeviceProperties(properties, device))
        return properties

    def get_device(self) -> int:
        return int(self._checked(self._hip.hipGetDevice()))

    def set_device(self, device: int) -> None:
        self._checked(self._hip.hipSetDevice(device))

    def arch_name(self, device: int) -> str:
        name: bytes = self._properties(device).gcnArchName
        return name.decode()

    def multiprocessors(self, device: int) -> int:
        return int(self._properties(device).multiProcessorCount)

    def load_module(self, code: bytes) -> Any:
        return self._checked(self._hip.hipModuleLoadData(code))

    def unload_module(self, module: Any) -> None:
        self._checked(self._hip.hipModuleUnload(module))

    def get_function(self, module: Any, name: str) -> Any:
        return self._checked(self._hip.hipModuleGetFunction(module, name.encode()))

    def launch(self, function: Any, blocks: int, threads: int, stream: int, pointers: int) -> None:
        self._checked(
            self._hip.hipModuleLaunchKernel(
                function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, None
            )
        )
