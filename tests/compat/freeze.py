"""Write the frozen corpus of a version of the IR, at its release: `python tests/compat/freeze.py`
for the current one, `python tests/compat/freeze.py 1.0` for one before it.

`tests/compat/<major>.<minor>/` holds, for each program, its text at stage `tile`, and arguments and
results (`.npz`, the bits of every array); for some programs the Plan's keys for several targets
(`.keys`); what texts of that version may say (`schema.json`); and a checksum of every file. A
folder that exists is never written again: what was released is read as it is for the life of the
major version.

Programs are the samples of the corpus (`tile_ir.testing.corpus`), programs of the language that are
scheduled by hand (`docs/generate/programs`), and `sources/*.tir` for what neither uses.
"""

from __future__ import annotations

import hashlib
import json
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.core import Function, Module
from tile_ir.interp import run
from tile_ir.schema import SCHEMA_VERSION
from tile_ir.testing.corpus import corpus
from tile_ir.testing.random import random_inputs
from tile_ir.testing.stability import snapshot
from tile_ir.text import parse_module, print_module
from tile_ir.verify import verify
from tile_passes.base import PassContext, State
from tile_passes.fuzz.cases import pipeline_of, spec_of
from tile_passes.manager import run_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tile_ir.opdef import Version

HERE = Path(__file__).parent
PROGRAMS = HERE.parents[1] / "docs" / "generate" / "programs"
SAMPLES = (
    *("gemm_nn_f16", "gemm_tt_f32", "gemm_bf16_out_bf16", "gemm_i8", "gemm_odd_tiles"),
    *("gemm_bias_relu", "gemm_fp8_scaled", "gemm_gelu", "gemm_batched", "gemm_split_k"),
    *("gemm_gated", "attention", "attention_causal", "attention_soft_cap", "softmax"),
    *("softmax_online", "rms_norm", "layer_norm", "scan", "row_sum_f16", "row_max_i32"),
    *("row_and_i32", "vector_add", "mixed_types", "transpose", "strided", "dequantize"),
    *("flat_view", "branches", "gather", "convolution", "pool", "shift", "histogram"),
    *("extremes", "column_sums", "two_kernels"),
)
BY_HAND = ("barriers", "roles", "async_copy", "cluster", "cluster_arrivals", "own_scheduler")
PLANNED = ("gemm_nn_f16", "gemm_split_k", "attention", "softmax_online", "layer_norm", "transpose")
TARGETS = (
    *("cpu -arch=x86-64-v3", "cuda -arch=sm_80", "cuda -arch=sm_90a"),
    *("rocm -arch=gfx942", "metal -arch=apple9"),
)


def programs() -> Iterator[tuple[str, Function, dict[str, Any]]]:
    """Each program by name, with arguments and dimensions."""
    known = corpus()
    for name in SAMPLES:
        sample = known[name]
        dims = sample.sizes[0]
        yield name, sample.function, {**sample.inputs(dims), **dims}
    for name in BY_HAND:
        function = runpy.run_path(str(PROGRAMS / f"{name}.py"))["example"].function
        yield f"by_hand_{name}", function, random_inputs(function, 0)
    for path in sorted((HERE / "sources").glob("*.tir")):
        (function,) = parse_module(path.read_text("utf-8")).functions
        yield path.stem, function, random_inputs(function, 0)


def bits(array: Any) -> Any:
    """An array as unsigned integers of its width, which files keep without knowing its type."""
    array = np.ascontiguousarray(array)
    return array.view(f"u{array.dtype.itemsize}")


def values(fn: Function, args: Mapping[str, Any], got: Mapping[str, Any]) -> dict[str, Any]:
    """What a file of values holds: `in.NAME` and `out.NAME`."""
    given = {n: bits(v) if isinstance(v, np.ndarray) else np.asarray(v) for n, v in args.items()}
    return {f"in.{n}": v for n, v in given.items()} | {f"out.{n}": bits(v) for n, v in got.items()}


def keys(fn: Function, target: str) -> list[str]:
    """The keys of everything that is decided about a program."""
    state = State(function=fn)
    return [d.key for d in planned(state, target).plan]


def planned(state: State, target: str) -> State:
    """The state after the passes that decide."""
    return run_pipeline(pipeline_of(target), state, PassContext(target=spec_of(target))).state


def checksums(folder: Path) -> str:
    """A line for each file: its digest and its name."""
    files = sorted(p for p in folder.iterdir() if p.name != "CHECKSUMS")
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}" for p in files]
    return "".join(f"{line}\n" for line in lines)


def freeze(folder: Path, version: Version) -> None:
    """Write everything into a folder that does not exist yet."""
    folder.mkdir()
    for name, fn, args in programs():
        assert verify(fn) == (), name
        (folder / f"{name}.tir").write_text(print_module(Module(functions=(fn,))), "utf-8")
        np.savez_compressed(folder / f"{name}.npz", **values(fn, args, run(fn, args)))
        if name in PLANNED:
            text = "".join(f"{t}: {' '.join(keys(fn, t))}\n" for t in TARGETS)
            (folder / f"{name}.keys").write_text(text, "utf-8")
    (folder / "schema.json").write_text(json.dumps(snapshot(version), indent=1) + "\n", "utf-8")
    (folder / "CHECKSUMS").write_text(checksums(folder), "utf-8")


def main(words: Sequence[str]) -> int:
    """Freeze the version that is named, unless it was."""
    major, minor = map(int, words[0].split(".")) if words else SCHEMA_VERSION
    folder = HERE / f"{major}.{minor}"
    if folder.exists():
        print(f"{folder} exists; what was released is not written again")
        return 1
    freeze(folder, (major, minor))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
