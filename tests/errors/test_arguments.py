"""Wrong arguments and surroundings: each refused, or worked around, with a code and advice."""

import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tile_cpu.compilers
import tile_frontend as tile
import tile_frontend.cache
import tile_frontend.language as T
import tile_frontend.target_select
from tile_ir.codes import catalogue
from tile_ir.diag import TileError

M, N, K = T.dynamic("M, N, K")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Compile anew, in a folder that a test may spoil."""
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILE_DISABLE_CACHE", raising=False)


@pytest.fixture(scope="module")
def cache_of_the_module(tmp_path_factory):
    """One folder for the kernels that several tests call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILE_CACHE_DIR", str(tmp_path_factory.mktemp("tile")))
        yield


def product():
    @T.prim_func
    def product(A: T.Tensor((M, K), T.float32), B: T.Tensor((K, N), T.float32)):
        C = T.empty((M, N), T.float32)
        with T.Kernel(M, N) as (i, j):
            total = T.alloc_var(T.float32, init=0)
            for k in T.serial(K):
                total += A[i, k] * B[k, j]
            C[i, j] = total
        return C

    return product


def doubled():
    @T.prim_func
    def doubled(A: T.Tensor((64,), T.float32)):
        B = T.empty((64,), T.float32)
        with T.Kernel(64) as i:
            B[i] = A[i] * 2.0
        return B

    return doubled


@pytest.fixture(scope="module")
def matmul(cache_of_the_module):
    return tile.compile(product(), target="cpu")


@pytest.fixture(scope="module")
def scaled(cache_of_the_module):
    @T.prim_func
    def scaled(
        A: T.Tensor((16, 8), T.float32),
        unused: T.Tensor((4,), T.int32),
        n: T.int8,
        x: T.float32,
        on: T.bool,
    ):
        with T.Kernel(16, 8) as (i, j):
            if on:
                A[i, j] = A[i, j] * x + T.cast(n, T.float32)

    return tile.compile(scaled, target="cpu")


def refused(code, call, *args, **kwargs):
    """Return the error of a call, which has this code, an explanation and advice."""
    with pytest.raises(TileError) as caught:
        call(*args, **kwargs)
    assert caught.value.code == code
    assert code in catalogue()
    assert caught.value.help
    return caught.value


def floats(*shape):
    return np.ones(shape, np.float32)


# -- arguments


@pytest.mark.parametrize("count", [0, 1, 3])
def test_wrong_number_of_arguments(matmul, count):
    error = refused("E2001", matmul, *[floats(4, 4)] * count)
    assert error.message == f"product takes 2 arguments, got {count}"
    assert "A, B" in error.notes[0]


def test_wrong_element_type(matmul):
    error = refused("E2002", matmul, floats(4, 4), np.ones((4, 4), np.float64))
    assert "'B' has element type float64, the kernel expects float32" in error.message


def test_wrong_number_of_axes(matmul):
    error = refused("E2003", matmul, floats(4), floats(4, 4))
    assert "'A' has 1 axis, the kernel expects 2" in error.message


def test_wrong_constant_extent(scaled):
    error = refused("E2004", scaled, floats(16, 9), None, 1, 1.0, True)
    assert error.message == "argument 'A' has extent 9 along axis 1, the kernel expects 8"


def test_extents_that_contradict_each_other(matmul):
    error = refused("E2005", matmul, floats(4, 5), floats(6, 4))
    assert error.message == "argument 'B' has extent 6 along axis 0, the kernel expects 5"
    assert any("extent 1 of A is 5" in note for note in error.notes)


@pytest.mark.parametrize("spoil", [np.transpose, lambda a: a[:, ::2], lambda a: a[::-1]], ids="TSR")
def test_array_that_is_not_contiguous(matmul, spoil):
    a = spoil(floats(6, 6))
    error = refused("E2006", matmul, a, floats(a.shape[1], 3))
    assert "'A' is not contiguous" in error.message
    assert "ascontiguousarray" in error.help


def test_array_with_strides_that_are_no_whole_elements(matmul):
    records = np.zeros(4, dtype=[("x", "<f4"), ("y", "u1")])
    odd = np.lib.stride_tricks.as_strided(records["x"], (4, 1), (5, 5))
    refused("E2006", matmul, odd, floats(1, 1))


def test_torch_tensor_that_is_not_contiguous(matmul):
    torch = pytest.importorskip("torch")
    refused("E2006", matmul, torch.ones(4, 4).t(), torch.ones(4, 4)[:, :2])


def test_tensor_on_another_device(matmul):
    torch = pytest.importorskip("torch")
    error = refused("E2007", matmul, torch.ones(4, 4, device="meta"), torch.ones(4, 4))
    assert "'A' is on device 'meta', the kernel runs on 'cpu'" in error.message


def test_nothing_for_a_tensor_that_is_used(matmul):
    error = refused("E2008", matmul, None, floats(4, 4))
    assert "'A' is None" in error.message


def test_nothing_for_a_tensor_that_is_not_used(scaled):
    a = floats(16, 8)
    assert scaled(a, None, 3, 2.0, True) is None
    np.testing.assert_array_equal(a, np.full((16, 8), 5, np.float32))


@pytest.mark.parametrize(
    "given", [[[1.0]], "A", 3, np.float32(3)], ids=["list", "text", "int", "scalar"]
)
def test_object_that_is_no_tensor(matmul, given):
    error = refused("E2009", matmul, given, floats(4, 4))
    assert type(given).__name__ in error.message


@pytest.mark.parametrize(
    ("n", "x", "on", "name"),
    [
        (1.5, 1.0, True, "n"),
        (200, 1.0, True, "n"),
        (-129, 1.0, True, "n"),
        (True, 1.0, True, "n"),
        ("1", 1.0, True, "n"),
        (1, "x", True, "x"),
        (1, None, True, "x"),
        (1, 1.0, 1, "on"),
        (1, 1.0, None, "on"),
    ],
)
def test_scalar_of_another_kind_or_out_of_range(scaled, n, x, on, name):
    error = refused("E2010", scaled, floats(16, 8), None, n, x, on)
    assert f"argument {name!r}" in error.message


@pytest.mark.parametrize("n", [np.int64(3), np.int8(3)])
def test_scalars_of_array_libraries_are_numbers(scaled, n):
    a = floats(16, 8)
    scaled(a, None, n, np.float32(2), np.bool_(True))
    np.testing.assert_array_equal(a, np.full((16, 8), 5, np.float32))


def test_dimension_that_no_argument_determines(cache_of_the_module):
    @T.prim_func
    def made(A: T.Tensor((M,), T.float32)):
        B = T.empty((N,), T.float32)
        with T.Kernel(N) as i:
            B[i] = A[0]
        return B

    error = refused("E2011", tile.compile(made, target="cpu"), floats(4))
    assert "dimension N" in error.message


def test_extent_that_the_declaration_cannot_be(cache_of_the_module):
    @T.prim_func
    def pairs(A: T.Tensor((2 * M,), T.float32)):
        with T.Kernel(M) as i:
            A[2 * i] = A[2 * i + 1]

    kernel = tile.compile(pairs, target="cpu")
    a = np.arange(6, dtype=np.float32)
    kernel(a)
    assert a.tolist() == [1, 1, 3, 3, 5, 5]
    error = refused("E2004", kernel, floats(7))
    assert "2" in error.message


def test_read_only_array(scaled):
    a = floats(16, 8)
    a.flags.writeable = False
    error = refused("E2012", scaled, a, None, 1, 1.0, True)
    assert "'A' is read-only" in error.message


def test_read_only_array_that_is_only_read(matmul):
    a = floats(4, 4)
    a.flags.writeable = False
    assert matmul(a, a).tolist() == np.full((4, 4), 4.0).tolist()


def test_output_of_a_type_that_the_library_lacks(cache_of_the_module):
    torch = pytest.importorskip("torch")

    @T.prim_func
    def narrowed(A: T.Tensor((16,), T.float32)):
        B = T.empty((16,), T.float8_e3m4)
        with T.Kernel(1):
            T.copy(A, B)
        return B

    refused("E2013", tile.compile(narrowed, target="cpu"), torch.ones(16))


def test_a_kernel_works_again_after_it_was_called_wrongly(matmul):
    refused("E2005", matmul, floats(4, 5), floats(6, 4))
    assert matmul(floats(2, 3), floats(3, 1)).tolist() == [[3.0], [3.0]]


@pytest.mark.parametrize("style", ["positions", "names"])
def test_eager_call_with_a_wrong_argument(cache_of_the_module, style):
    @tile.jit(target="cpu")
    def negated(A, B):
        n = T.const("n")
        A: T.Tensor((n,), T.float32)
        B: T.Tensor((n,), T.float32)
        with T.Kernel(n) as i:
            B[i] = -A[i]

    def call(a, b):
        return negated(a, b) if style == "positions" else negated(A=a, B=b)

    b = floats(3)
    call(floats(3), b)
    assert b.tolist() == [-1.0, -1.0, -1.0]
    assert refused("E2005", call, floats(3), floats(4)).message.startswith("argument 'B'")
    refused("E2002", call, floats(3), np.ones(3))
    refused("E2003", call, floats(3), floats(3, 1))
    refused("E2009", call, floats(3), [1.0, 2.0, 3.0])


# -- the compiler


def fake_compiler(folder, monkeypatch, script):
    """Make `script` the C compiler."""
    path = Path(folder, "cc")
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("CC", str(path))


def compile_doubled():
    return tile.compile(doubled(), target="cpu")


def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tile_cpu.compilers, "zig_path", lambda: None)
    error = refused("E0801", compile_doubled)
    assert error.message == "no C compiler found"
    assert "tile-cpu[toolchain]" in error.help


def test_compiler_that_does_not_exist(monkeypatch):
    monkeypatch.setenv("CC", "/no/such/compiler")
    assert "/no/such/compiler" in refused("E0801", compile_doubled).message


def test_compiler_that_cannot_say_its_version(tmp_path, monkeypatch):
    fake_compiler(tmp_path, monkeypatch, "echo broken >&2; exit 1")
    error = refused("E0801", compile_doubled)
    assert "--version failed" in error.message
    assert error.notes == ("broken",)


FAILING = """\
case "$1" in --version) echo "cc (Fake) 12.2.0"; exit 0;; esac
for word; do case "$word" in *kernel.c) echo "$word:3:1: error: I refuse" >&2;; esac; done
exit 1"""


def test_compiler_that_refuses_the_kernel(tmp_path, monkeypatch):
    fake_compiler(tmp_path, monkeypatch, FAILING)
    error = refused("E0802", compile_doubled)
    assert error.message == "the C compiler refused the kernel: I refuse"
    assert any("command: " in note for note in error.notes)
    left = [p.name for p in (tmp_path / "cache" / "kernels").iterdir()]
    assert left == []


FULL = """\
case "$1" in --version) echo "cc (Fake) 12.2.0"; exit 0;; esac
echo "/tmp/x.s: fatal error: write: No space left on device" >&2
exit 1"""


def test_compiler_without_room_for_its_output(tmp_path, monkeypatch):
    fake_compiler(tmp_path, monkeypatch, FULL)
    with pytest.warns(tile_frontend.cache.CacheWarning, match="E2101"):
        error = refused("E0803", compile_doubled)
    assert "No space left on device" in str(error)


def test_number_of_threads_that_is_no_number(monkeypatch):
    monkeypatch.setenv("TILE_NUM_THREADS", "many")
    error = refused("E0807", compile_doubled)
    assert "TILE_NUM_THREADS is 'many'" in error.message


def test_no_target_installed(monkeypatch):
    monkeypatch.setattr(tile_frontend.target_select, "discover", lambda group: ())
    tile_frontend.target_select._named.cache_clear()
    error = refused("E2014", tile.compile, doubled(), target="auto")
    assert 'pip install "tile-frontend[cpu]"' in error.help


# -- the cache on disk


def works(kernel):
    np.testing.assert_array_equal(kernel(np.arange(64, dtype=np.float32)), 2 * np.arange(64.0))


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_cache_that_cannot_be_written(monkeypatch, tmp_path, reason):
    """A full disk, a read-only one, one without permission, one beyond its quota."""
    real = tile_frontend.cache.tempfile.mkdtemp

    def mkdtemp(suffix=None, prefix=None, dir=None):
        if dir is not None and str(dir).startswith(str(tmp_path)):
            raise OSError(reason, os.strerror(reason))
        return real(suffix, prefix, dir)

    monkeypatch.setattr(tile_frontend.cache.tempfile, "mkdtemp", mkdtemp)
    with pytest.warns(tile_frontend.cache.CacheWarning, match=r"warning\[E2101\]") as caught:
        works(compile_doubled())
    assert os.strerror(reason) in str(caught[0].message)


def test_cache_folder_that_is_a_file(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(tile_frontend.cache.CacheWarning, match="E2101"):
        works(compile_doubled())


SCRIPT = """
import sys, warnings
import numpy as np
import tile_frontend as tile
import tile_frontend.language as T

@tile.jit(target="cpu")
def doubled(A):
    A: T.Tensor((64,), T.float32)
    B = T.empty((64,), T.float32)
    with T.Kernel(64) as i:
        B[i] = A[i] * 2.0
    return B

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    result = doubled(np.ones(64, np.float32))
assert (result == 2).all()
print(*sorted({str(w.message)[:14] for w in seen}))
"""


@pytest.mark.parametrize("writable", [True, False])
def test_first_call_of_a_process(tmp_path, writable):
    """Nothing that a target keeps for itself may need the cache either."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "TILE_CACHE_DIR": str(tmp_path / "new") if writable else "/dev/null/none"}
    done = subprocess.run(
        [sys.executable, str(script)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ([] if writable else ["warning[E2101]"])


def entry_of(folder):
    """The one kernel in the cache."""
    (entry,) = (p for p in (folder / "cache" / "kernels").iterdir() if not p.name.startswith("."))
    return entry


def replace_library(entry, data):
    """Put another file in the library's place; this process still runs from the old one."""
    library = entry / "kernel.so"
    library.unlink()
    library.write_bytes(data)


def spoil_library(entry):
    data = bytearray((entry / "kernel.so").read_bytes())
    data[len(data) // 2] ^= 0xFF
    replace_library(entry, data)


def truncate_library(entry):
    replace_library(entry, b"")


def remove_library(entry):
    (entry / "kernel.so").unlink()


def spoil_description(entry):
    (entry / "entry.json").write_text("{")


def empty_description(entry):
    (entry / "entry.json").write_text("[]")


def remove_description(entry):
    (entry / "entry.json").unlink()


def remove_source(entry):
    (entry / "source.c").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        spoil_library,
        truncate_library,
        remove_library,
        spoil_description,
        empty_description,
        remove_description,
        remove_source,
    ],
)
def test_damaged_entry_is_built_anew(tmp_path, damage):
    assert not compile_doubled().compiled.cached
    damage(entry_of(tmp_path))
    with pytest.warns(tile_frontend.cache.CacheWarning, match=r"warning\[E2102\]"):
        again = compile_doubled()
    assert not again.compiled.cached
    works(again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        third = compile_doubled()
    assert third.compiled.cached
    works(third)


def test_cache_that_is_turned_off(tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_DISABLE_CACHE", "1")
    works(compile_doubled())
    assert not (tmp_path / "cache" / "kernels").exists()
