"""What the host needs for a call of a kernel with 3, 10 and 20 tensors, beside a raw launch.

The kernel adds short vectors, so that nearly all of a call is the host's work. What is compared:

* checked: `kernel(*tensors)`, which compares types, extents, strides and devices of all arguments
  with what it knows, reads their addresses and checks that these are aligned.
* by hand: the same without a check, as one writes it without a library, unrolled: read the address
  of each tensor, pack them into the block of arguments, ask for the current stream (on a GPU), and
  make one foreign call through ctypes. A checked call may take 1.5 times as long.
* bound: `run = kernel.bind(*tensors)`, then `run()`: these very tensors again.
* raw: one foreign call through ctypes with everything prepared, the block and its numbers as
  objects of ctypes; no address is read and nothing is packed. A bound call may take 1.1 times as
  long.

On a GPU the foreign call is `cuLaunchKernel`, tensors are torch's, and a CuPy `RawKernel` and a
Triton kernel that do the same are called with arrays of their own libraries. On a CPU it is the
pool's entry, which runs the same compiled kernel; tensors are numpy's unless `--arrays torch`.
Checked calls beside raw ones are shown without a limit.

With torch's tensors on a CPU nothing but reading the addresses costs more than the launch, and a
check cannot be had for half of that: torch's own, one call in C++ for all tensors, which compares
kind, type, device, extents and strides, takes about as long as reading the addresses. So there a
checked call is compared with

* checked by hand: torch's comparison of all tensors, then the same as by hand. A checked call may
  take 1.1 times as long;

and the one by hand without a check is shown.

    python benchmarks/launch.py --target cpu --json FILE --check
"""

from __future__ import annotations

import ctypes
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from host_time import QUEUED, microseconds
from report import Row, finish, parser, versions

import tile_frontend as tile
from tile_frontend.adapters import adapter_named
from tile_ir.testing.by_path import module_at

COUNTS = (3, 10, 20)
LENGTH = 64
CHECKED, BOUND, SHOWN = 1 / 1.5, 1 / 1.1, 0.0
Calls = dict[str, Callable[[], object]]

OURS = """\
import tile_frontend as tile
import tile_frontend.language as T

@tile.jit
def add_all({names}):
    {annotations}
    with T.Kernel(1, threads=64):
        for i in T.Parallel({length}):
            {last}[i] = {total}
"""
TRITON = """\
import triton
import triton.language as tl

@triton.jit
def add_all({names}, LENGTH: tl.constexpr):
    at = tl.arange(0, LENGTH)
    tl.store({last} + at, {loaded})
"""
CUPY = """\
extern "C" __global__ void add_all({pointers}) {{
    int i = threadIdx.x;
    if (i < {length}) {last}[i] = {total};
}}
"""


def written(template: str, count: int) -> str:
    """The text of a kernel that puts the sum of all but its last tensor into that."""
    names = [f"x{i}" for i in range(count)]
    *inputs, last = names
    return template.format(
        names=", ".join(names),
        annotations="; ".join(f"{n}: T.Tensor(({LENGTH},), T.float32)" for n in names),
        pointers=", ".join(f"float *{n}" for n in names),
        last=last,
        length=LENGTH,
        total=" + ".join(f"{n}[i]" for n in inputs),
        loaded=" + ".join(f"tl.load({n} + at)" for n in inputs),
    )


def module_of(template: str, count: int, folder: Path) -> ModuleType:
    """A module of such a text: who traces a kernel reads its file."""
    path = folder / f"{'triton' if template is TRITON else 'ours'}_{count}.py"
    path.write_text(written(template, count), "utf-8")
    return module_at(path)


def unrolled(text: str, count: int, names: dict[str, Any]) -> Callable[..., object]:
    """A function of `count` tensors x0, x1, ... that runs `text`, in which ADDRESSES stands for
    the addresses of all of them."""
    tensors = [f"x{i}" for i in range(count)]
    addresses = ", ".join(names["address"].format(x) for x in tensors)
    made: Callable[..., object] = eval(
        f"lambda {', '.join(tensors)}: {text.replace('ADDRESSES', addresses)}", names
    )
    return made


def cpu_calls(kernel: Any, tensors: Sequence[Any], library: str) -> Calls:
    """The ways to call a kernel on the CPU."""
    count = len(tensors)
    launch = kernel.compiled.launch.prepare(0, (), library).names
    addresses = [t.ctypes.data if library == "numpy" else t.data_ptr() for t in tensors]
    block = ctypes.c_char_p(launch["pack"](*addresses))
    foreign, entry, threads = launch["foreign"], launch["address"], launch["threads"]
    known = {
        "addressof": ctypes.addressof,
        "buffer": ctypes.c_char.from_buffer,
        **launch,
        "entry": entry,
        "address": "addressof(buffer({}))" if library == "numpy" else "{}.data_ptr()",
    }
    text = "foreign(entry, pack(ADDRESSES), threads)"
    hand = unrolled(text, count, known)
    calls: Calls = {
        "raw": lambda: foreign(entry, block, threads),
        "by hand": lambda: hand(*tensors),
    }
    compare = adapter_named(library).comparison(tensors) if library == "torch" else None
    if compare is not None:
        given = ", ".join(f"x{i}" for i in range(count))
        careful = unrolled(f"alike({given}) and {text}", count, {**known, "alike": compare})
        calls["checked by hand"] = lambda: careful(*tensors)
    return calls


def gpu_calls(kernel: Any, tensors: Sequence[Any], folder: Path) -> Calls:
    """The ways to call a kernel on a GPU, and its peers."""
    import cupy
    import torch
    from gpu_launches import launches_of, raw_launches

    count = len(tensors)
    alive, (args,) = launches_of(lambda: kernel.bind(*tensors))
    memory = (ctypes.c_uint64 * count)()
    passed = (ctypes.POINTER(ctypes.c_uint64) * count).from_address(args[9])
    order = [[t.data_ptr() for t in tensors].index(p.contents.value) for p in passed]
    places = (ctypes.c_void_p * count)(*(ctypes.addressof(memory) + 8 * i for i in order))
    known = {
        "address": "{}.data_ptr()",
        "launch": ctypes.CDLL("libcuda.so.1").cuLaunchKernel,
        "pointer": ctypes.c_void_p,
        "function": ctypes.c_void_p(args[0]),
        "shape": args[1:8],
        "places": places,
        "memory": memory,
        "pack": struct.Struct(f"@{count}Q").pack_into,
        "stream": torch._C._cuda_getCurrentRawStream,
        "alive": alive,  # what the arguments of the raw launch point into
    }
    text = (
        "(pack(memory, 0, ADDRESSES), launch(function, *shape, pointer(stream(0)), places, None))"
    )
    hand = unrolled(text, count, known)
    theirs = cupy.RawKernel(written(CUPY, count), "add_all")
    arrays = tuple(cupy.ones(LENGTH, cupy.float32) for _ in tensors)
    triton = module_of(TRITON, count, folder).add_all
    return {
        "raw": raw_launches(args)["ctypes"],
        "by hand": lambda: hand(*tensors),
        "CuPy RawKernel": lambda: theirs((1,), (LENGTH,), arrays),
        "Triton": lambda: triton[(1,)](*tensors, LENGTH=LENGTH),
    }


def check(calls: Calls, tensors: Sequence[Any]) -> None:
    """Each way to call the kernel on these tensors does what it should."""
    *inputs, last = tensors
    for name, call in calls.items():
        if name == "CuPy RawKernel":
            continue
        last[:] = 0
        call()
        if not bool((last == len(inputs)).all()):
            raise SystemExit(f"{name}: wrong values")


def rows(target: str, library: str, only: str, folder: Path) -> Iterator[Row]:
    """Each count of tensors, called in every way."""
    for count in COUNTS:
        name = f"{target}: {count} tensors"
        if only not in name:
            continue
        tensors = tensors_of(target, library, count)
        jitted = module_of(OURS, count, folder).add_all
        kernel = tile.jit(target=target)(jitted.fn).compile()
        idle = None
        if target == "cuda":
            import torch

            others, idle = gpu_calls(kernel, tensors, folder), torch.cuda.synchronize
        else:
            others = cpu_calls(kernel, tensors, library)
        run = kernel.bind(*tensors)
        calls = {
            "checked": lambda kernel=kernel, tensors=tensors: kernel(*tensors),
            "bound": run,
            **others,
        }
        check(calls, tensors)
        times = microseconds(calls, idle, QUEUED if idle else 10 * QUEUED)
        print(f"{name}: " + ", ".join(f"{k} {v:.2f}" for k, v in times.items()), "us", flush=True)
        yield from compared(name, times)


def compared(name: str, times: dict[str, float]) -> Iterator[Row]:
    """The rows of one kernel's times."""
    pairs = [("checked", "by hand", CHECKED), ("bound", "raw", BOUND)]
    if "checked by hand" in times:
        pairs = [("checked", "checked by hand", BOUND), pairs[1], ("checked", "by hand", SHOWN)]
    pairs += [("checked", peer, SHOWN) for peer in times if peer.startswith(("raw", "C", "T"))]
    for ours, peer, bar in pairs:
        ratio = times[peer] / times[ours]
        yield Row(f"{name}: {ours}", times[ours], times[peer], peer, "us", ratio, bar)


def tensors_of(target: str, library: str, count: int) -> list[Any]:
    """As many vectors of ones."""
    if library == "numpy":
        import numpy as np

        return [np.ones(LENGTH, np.float32) for _ in range(count)]
    import torch

    return [torch.ones(LENGTH, device=target) for _ in range(count)]


def main() -> int:
    """Measure and print one table."""
    options = parser(__doc__)
    options.add_argument("--target", choices=("cpu", "cuda"), default="cpu")
    options.add_argument("--arrays", choices=("numpy", "torch"), help="the tensors on a CPU")
    args = options.parse_args()
    library = "torch" if args.target == "cuda" else args.arrays or "numpy"
    with tempfile.TemporaryDirectory() as folder:
        found = list(rows(args.target, library, args.only, Path(folder)))
    names = ("tile-frontend", f"tile-{args.target}", "numpy", "torch", "cupy-cuda13x", "triton")
    return finish(found, args, versions(*names))


if __name__ == "__main__":
    raise SystemExit(main())
