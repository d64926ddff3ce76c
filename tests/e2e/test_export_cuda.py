"""Exported libraries for GPUs, on a driver that only keeps a record: which kernel is launched, with
how many blocks, threads and arguments; what the library says where there is no driver or no fitting
device."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_cuda.exported.exporter import CudaExporter
from tile_ir.plugin import load
from tile_ir.target import find_spec, parse_target
from tile_ir.testing.by_path import module_at
from tile_ir.testing.requires import requires

DRIVER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Memory is the host's; a function is its name. A launch writes a line. */
static FILE *record(void) {
  static FILE *file;
  if (!file) file = fopen(getenv("RECORD"), "w");
  return file;
}
#define SAY(...) (fprintf(record(), __VA_ARGS__), fflush(record()), 0)
static int number(const char *name, int other) { return getenv(name) ? atoi(getenv(name)) : other; }
int cuInit(unsigned f) { return 0; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGetAttribute(int *v, int what, int d) {
  *v = what == 75 ? number("MAJOR", 9) : what == 76 ? number("MINOR", 0) : 10;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)(intptr_t)(d + 1); return 0; }
int cuCtxPushCurrent_v2(void *c) { return 0; }
int cuCtxPopCurrent_v2(void **c) { return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuModuleLoadData(void **m, const void *code) {
  *m = (void *)code;
  return memcmp(code, "\177ELF", 4) ? 200 : SAY("load\n");
}
int cuModuleGetFunction(void **f, void *m, const char *name) { *f = (void *)name; return 0; }
int cuFuncSetAttribute(void *f, int what, int n) { return SAY("shared %d %d\n", what, n); }
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c,
                   unsigned shared, void *stream, void **values, void **extra) {
  SAY("%s %u %u %u stream %d", (char *)f, x, a, shared > 0, (int)(intptr_t)stream);
  for (; *values; values++) SAY(" %d", *(int32_t *)*values);
  return SAY("\n");
}
int cuMemAlloc_v2(uint64_t *p, size_t n) {
  *p = (uint64_t)aligned_alloc(256, (n + 255) / 256 * 256);
  return 0;
}
int cuMemFree_v2(uint64_t p) { free((void *)p); return 0; }
int cuMemcpyHtoD_v2(uint64_t p, const void *h, size_t n) { memcpy((void *)p, h, n); return 0; }
int cuMemcpyDtoH_v2(void *h, uint64_t p, size_t n) { memcpy(h, (void *)p, n); return 0; }
int cuMemsetD8_v2(uint64_t p, unsigned char v, size_t n) { memset((void *)p, v, n); return 0; }
int cuMemAllocAsync(uint64_t *p, size_t n, void *s) {
  SAY("workspace %d\n", (int)n);
  return cuMemAlloc_v2(p, n);
}
int cuMemFreeAsync(uint64_t p, void *s) { SAY("freed\n"); return cuMemFree_v2(p); }
int cuStreamIsCapturing(void *s, int *v) { *v = number("CAPTURE", 0); return 0; }
int cuGetErrorString(int e, const char **t) { *t = "as the test wants"; return 0; }
int cuTensorMapEncodeTiled(void *m, int type, uint32_t rank, void *a, const uint64_t *sizes,
                           const uint64_t *steps, const uint32_t *box, const uint32_t *ones, int i,
                           int swizzle, int l2, int fill) {
  memcpy(m, "map", 4);
  SAY("map type %d swizzle %d", type, swizzle);
  for (uint32_t d = 0; d < rank; d++) SAY(" %d/%d", (int)sizes[d], (int)box[d]);
  for (uint32_t d = 0; d + 1 < rank; d++) SAY(" step %d", (int)steps[d]);
  return SAY("\n");
}
"""

PROGRAM = """
import ctypes, json, sys
sys.path.insert(0, sys.argv[1])
kernel = __import__(sys.argv[2]).kernel
class Array:
    def __init__(self, shape, kind="<f2", size=2, at=256):
        self.memory = ctypes.create_string_buffer(1 << 20)
        data = -(-ctypes.addressof(self.memory) // 256) * 256 + at
        self.__cuda_array_interface__ = {"data": (data, False), "typestr": kind, "shape": shape}
def tried(*args, **options):
    try:
        kernel(*args, **options)
        return [kernel.used(), ""]
    except ValueError as error:
        return [-1, str(error)]
print(json.dumps(eval(sys.argv[3])))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the wheel of a product for two architectures, and one with the driver."""
    requires("a C compiler", shutil.which("cc"))
    kernels = module_at(Path(__file__).with_name("export_kernels.py"))
    folder = tmp_path_factory.mktemp("exported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILE_CACHE_DIR", str(folder / "cache"))
        drawn = {"product.tiles.claim": "dynamic"}
        kernel = tile.compile(
            kernels.product(T.dynamic("M")), target="cuda -arch=sm_90a", plan=drawn
        )
        wheels = [kernel.export(folder, "wheel", targets=["cuda -arch=sm_80"])]
        kernel = tile.compile(kernels.steps(T.dynamic("N")), target="cuda -arch=sm_80")
        wheels += [kernel.export(folder, "wheel", plain=False)]
        func = kernels.product(T.dynamic("M"), 64, T.dynamic("K"))
        kernel = tile.compile(func, target="cuda -arch=sm_90a")
        wheels += [kernel.export(folder, "wheel", name="strict", plain=False)]
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "site")
    (folder / "driver.c").write_text(DRIVER)
    (folder / "driver").mkdir()
    library = folder / "driver" / "libcuda.so.1"
    command = ["cc", "-w", "-shared", "-fPIC", "-o", library, folder / "driver.c"]
    subprocess.run(command, check=True)
    return folder


def asked(site, expression, driver="driver", module="product", **settings):
    """What a process without our packages makes of an expression, and the driver's record."""
    record = site / "record"
    record.write_text("")
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    found = {"RECORD": str(record), "LD_LIBRARY_PATH": str(site / driver)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, site / "site", module, expression],
        env={**clean, **found, **settings}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), record.read_text().splitlines()


CALL = "tried(Array((70, 96)), Array((96, 64)), Array((70, 64)), stream=7)"


def test_the_fast_variant_of_the_machine_is_launched(site):
    made, record = asked(site, CALL)
    assert made == [0, ""]
    maps = [line for line in record if line.startswith("map")]
    assert sorted(maps) == [
        "map type 1 swizzle 2 96/32 70/64 step 192",
        "map type 1 swizzle 3 64/64 70/64 step 128",
        "map type 1 swizzle 3 64/64 96/32 step 128",
    ]
    launch = record[-1].split()
    assert launch[:2] == ["product", "2"]  # of 70 rows
    assert launch[3:6] == ["1", "stream", "7"]
    assert launch[6:9] == [str(0x70616D)] * 3
    assert launch[-1] == "70"


def test_launches_of_a_stream_share_a_counter(site):
    calls = ", ".join(CALL.replace("stream=7", f"stream={n}") for n in (7, 7, 8, 1, 0))
    made, record = asked(site, f"[{calls}]")
    assert made == [[0, ""]] * 5
    at = [line.split()[9] for line in record if line.startswith("product")]
    assert at[0] == at[1]
    assert at[3] == at[4]  # two names of one stream
    assert len(set(at)) == 3


def test_captured_launches_have_counters_of_their_own(site):
    made, _ = asked(site, CALL, CAPTURE="1")
    assert made[1].startswith("E3018")
    first = CALL.replace("stream=7", "stream=0")
    made, record = asked(site, f"[{first}, {CALL}, {CALL}]", CAPTURE="1")
    assert made == [[0, ""]] * 3
    assert len({line.split()[9] for line in record if line.startswith("product")}) == 3


def test_workspaces_follow_the_stream(site):
    call = "tried(Array((200,), '<f4', 4), 1.0, Array((200,), '<f4', 4), stream=7)"
    made, record = asked(site, call, module="steps", MAJOR="8")
    assert made == [0, ""]
    assert [line.split()[0] for line in record] == [
        "load", "workspace", "steps", "steps_2", "freed"
    ]  # fmt: skip
    assert record[1] == "workspace 800"
    assert record[2].split()[1:3] == ["2", "128"]
    assert record[3].split()[1:3] == ["4", "64"]
    one = str(int.from_bytes(b"\0\0\x80\x3f", "little"))
    assert one in record[2].split()  # the bits of alpha
    made, _ = asked(site, call.replace("1.0", "'x'"), module="steps", MAJOR="8")
    assert made[1].startswith("E2010: argument 'alpha' is 'x'")


def test_an_older_machine_gets_its_own(site):
    made, record = asked(site, CALL, MAJOR="8", MINOR="6")
    assert made == [1, ""]
    assert not [line for line in record if line.startswith("map")]
    assert record[-1].startswith("product 2 128 1 stream 7 ")


def test_arguments_off_their_place_get_the_plain_variant(site):
    odd = "tried(Array((70, 96), at=2), Array((96, 64)), Array((70, 64)))"
    made, record = asked(site, odd)
    assert made == [2, ""]
    assert record[-1].startswith("product 2 ")
    assert "stream 0" in record[-1]


def test_without_a_plain_variant_odd_rows_are_refused(site):
    call = "tried(Array((70, {0})), Array(({0}, 64)), Array((70, 64)))"
    assert asked(site, call.format(104), module="strict")[0] == [0, ""]
    made, record = asked(site, call.format(100), module="strict")
    assert made[1].startswith(
        "E2406: argument 'A' has stride 100 along axis 0, the kernel needs rows"
    )
    assert record == []
    moved = call.format(104).replace("104))", "104), at=2)", 1)
    assert asked(site, moved, module="strict")[0][1].startswith("E2016: argument 'A' begins at")


def test_other_machines_are_told(site):
    made, _ = asked(site, CALL, MAJOR="10", MINOR="0")
    assert made[1].startswith("E2407: none of the 4 variants was built for this machine")
    made, _ = asked(site, CALL, driver="nowhere")
    assert made[1].startswith("E3008: there is no CUDA device: libcuda.so.1")


def test_arguments_are_checked_before_anything_is_launched(site):
    made, record = asked(site, "tried(Array((70, 96)), Array((95, 64)), Array((70, 64)))")
    assert made[1].startswith("E2004: argument 'B': extent 0 is 95")
    assert record == []
    made, _ = asked(site, "tried(Array((70, 96), '<f4', 4), Array((96, 64)), Array((70, 64)))")
    assert "has element type float32, the kernel expects float16" in made[1]
    import_host = (
        "tried(__import__('numpy').zeros((70, 96), 'f2'), Array((96, 64)), Array((70, 64)))"
    )
    made, _ = asked(site, import_host)
    assert made[1].startswith("E2007: argument 'A' is in memory of DLPack's type 1")


def test_a_self_check_on_a_driver_that_computes_nothing_fails(site):
    code = "tried.__globals__['kernel']._library.product_self_check(0)"
    made, record = asked(site, f"[{code}, kernel.message()]")
    assert made[0] == 2408
    assert made[1].startswith("element 0 of 'C' is ")
    assert record[-1].startswith("product 2 ")  # the even case has 128 rows


def test_architectures_are_ranked():
    def rank(arch):
        manifest = load("tile.targets", "cuda")
        return CudaExporter(find_spec(manifest, parse_target(f"cuda -arch={arch}"))).rank

    assert rank("sm_90a") > rank("sm_80") > 0
