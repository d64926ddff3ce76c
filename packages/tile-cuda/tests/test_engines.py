"""What the emitter makes of barriers, bulk copies, groups and asynchronous matrix instructions, and
what the assembler makes of that; tensor maps as the driver is asked for them."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from tile_cuda import spec, tensor_maps
from tile_cuda.compiler_messages import raise_for_performance
from tile_cuda.descriptors import Descriptor, shared_operand
from tile_cuda.driver import emit
from tile_cuda.emit import emit_function
from tile_cuda.launch import layout_of
from tile_cuda.shared_tiles import chunk_offset, element_offset, shared_box
from tile_cuda.toolchain import compile_source
from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.diag import InternalError, TileError
from tile_ir.layout import parse_layout
from tile_ir.text import parse_function, parse_module
from tile_ir.types import dtype

ARCH = "sm_90a"
PROGRAMS = Path(__file__).parent / "programs"
SWIZZLES = {128: " swizzle<3,4,3>", 64: " swizzle<2,4,3>", 32: " swizzle<1,4,3>", 16: ""}


def tile(layout, kind="f16"):
    found = parse_layout(layout)
    shape = tuple(b.const(n) for n in found.shape)
    return Buffer(name="T", dtype=dtype(kind), shape=shape, scope="shared", layout=found)


def one_kernel(body, declarations="A: global f16[M, K], C: global f16[M, K]"):
    return parse_function(
        f"func @f({declarations}) dims (M, K) stage simt {{\nkernel @f threads = (256) {{\n"
        f"let t = thread_index()\ntiles (x) in (1) {{\n{body}\n}} }} }}"
    )


def text_of(body, arch="sm_90a"):
    return emit_function(one_kernel(body), spec.load(arch)).text


# -- tiles in shared memory


@pytest.mark.parametrize(
    ("layout", "region", "rows", "row_bytes"),
    [
        ("m (64:64) k (64:1) swizzle<3,4,3>", [(0, 64), (0, 64)], ((64, 64),), 128),
        ("m (64:32) k (32:1) swizzle<2,4,3>", [(8, 16), (0, 32)], ((16, 32),), 64),
        ("k (64:64) n (64:1, 4:4096) swizzle<3,4,3>", [(0, 64), (64, 64)], ((64, 64),), 128),
        ("m (8:16, 4:128) k (16:1)", [(0, 32), (0, 16)], ((32, 16),), 16),
    ],
)
def test_a_region_of_a_tile(layout, region, rows, row_bytes):
    buffer = tile(layout)
    box = shared_box(buffer, b.region(buffer, region))
    assert box.axes[0] == rows
    assert box.row_bytes == row_bytes
    assert box.extents == tuple(extent for _, extent in region)


def test_offsets_are_those_of_the_layout():
    buffer = tile("s (4:16384) k (64:64) n (64:1, 4:4096) swizzle<3,4,3>")
    for at in ((0, 0, 0), (3, 8, 64), (2, 63, 200)):
        linear = buffer.layout.evaluate(at)[0]
        assert element_offset(buffer, [b.const(i) for i in at]) == b.const(linear)
        assert chunk_offset(buffer, [b.const(i) for i in at]) == b.const(linear // 8)


def test_what_no_engine_takes_is_our_defect():
    odd = tile("m (64:64) k (64:1) swizzle<2,3,3>")
    with pytest.raises(InternalError, match="no engine applies"):
        shared_box(odd, b.whole(odd))
    split = tile("m (64:64) k (64:1, 2:4096)")
    with pytest.raises(InternalError, match="a region of 96"):
        shared_box(split, b.region(split, [(0, 64), (0, 96)]))


@pytest.mark.parametrize("row_bytes", SWIZZLES)
@pytest.mark.parametrize("k_major", [True, False])
def test_descriptors_of_every_layout(row_bytes, k_major):
    """64 by 16 elements of 16 bits out of a tile of 64 by 64."""
    per_row = row_bytes // 2
    columns = 64 // per_row
    tail = f", {columns}:{64 * per_row}" if columns > 1 else ""
    rows, inner = ("m", "k") if k_major else ("k", "m")
    axes = {rows: f"{rows} (64:{per_row})", inner: f"{inner} ({per_row}:1{tail})"}
    buffer = tile(f"{axes['m']} {axes['k']}{SWIZZLES[row_bytes]}")
    found = shared_operand(buffer, b.region(buffer, [(0, 64), (16, 16)]), mn_first=True)
    column = 64 * row_bytes
    group = 8 * row_bytes
    wanted = {
        # K-major: groups of 8 rows; without an exchange also columns of 16 bytes.
        True: (16 if row_bytes > 16 else column, group),
        # Otherwise columns of m and groups of 8 k, the other way round without an exchange.
        False: (column if columns > 1 else 16, group) if row_bytes > 16 else (group, column),
    }[k_major]
    codes = {128: 1, 64: 2, 32: 3, 16: 0}
    assert found.descriptor == Descriptor(
        buffer="T", swizzle=codes[row_bytes], lead=wanted[0], stride=wanted[1]
    )
    assert (found.mn, found.k, found.mn_major) == (64, 16, not k_major)


def test_rows_of_another_pitch_have_no_descriptor():
    buffer = tile("m (64:72) k (64:1) swizzle<3,4,3>")
    with pytest.raises(InternalError, match="not 128 bytes apart"):
        shared_operand(buffer, b.region(buffer, [(0, 64), (0, 16)]), mn_first=True)


# -- statements


def test_barriers():
    text = text_of(
        """barriers full: [3] arrivals 2 offset = 64, scope = cluster
        barrier_arrive full[t % 3]
        barrier_arrive full[1] peer = block_rank()
        barrier_expect full[0] bytes 512
        barrier_wait full[2] phase t & 1"""
    )
    for line in (
        "unsigned long long *const full = (unsigned long long *)(arena + 64);",
        "for (int i = 0; i < 3; i++) tile_phase_init(&full[i], 2);",
        "tile_phase_arrive_at(&full[1], tile_cluster_rank());",
        "tile_phase_expect(&full[0], 512);",
        "tile_phase_wait(&full[2], t & 1);",
    ):
        assert line in text
    made = emit_function(one_kernel("barriers full: [3] arrivals 2 offset = 64"), spec.load(ARCH))
    assert made.kernels[0].shared_bytes == 64 + 3 * 8


def test_synchronisation_of_some_threads():
    text = text_of("sync role id = 2, threads = 96\nsync cluster\nsync group\nsync block")
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index("tile_named_sync(2, 96);")
    assert lines[at + 1 : at + 6].count("tile_cluster_wait();") == 1
    assert "tile_named_sync(1 + (int)threadIdx.x / 128, 128);" in lines
    assert "__syncthreads();" in lines


def test_copies_of_threads_and_their_groups():
    text = text_of(
        """alloc s: shared f16[2048] offset 0
        async_copy A[t, 0 : +8] -> s[t * 8 : +8] where = t < M
        async_copy A[t, 0 : +2] -> s[t * 8 : +2]
        commit_group group_load
        settle_count group_load <= 1""",
        "sm_80",
    )
    assert "tile_copy_async<16>(&s[t * 8], &A[(long long)t * K], t < M ? 16 : 0);" in text
    assert "tile_copy_async<4>(&s[t * 8], &A[(long long)t * K]);" in text
    assert "tile_copy_commit();" in text
    assert "tile_copy_wait<1>();" in text


def test_a_group_of_what_completes_by_itself_is_our_defect():
    with pytest.raises(InternalError, match="no groups to commit"):
        text_of("commit_group box_load")


RING = "s (2:4096) m (64:64) k (64:1) swizzle<3,4,3>"
BOXES = f"""alloc S: shared f16[2, 64, 64] offset 0 layout [{RING}]
barriers full: [2] arrivals 1 offset = 16384
if t == 0 {{
  box_load A[x * 64 : +64, t : +64] -> S[1, :, :] onto full[1]
  box_load A[0 : +32, 0 : +64] -> S[0, 32 : +32, :] onto full[0] multicast = 3
  box_store S[0, :, :] -> C[0 : +64, 0 : +64]
  commit_group box_store
  settle_count box_store <= 0 read
}}"""


def test_boxes_and_their_tensor_maps():
    made = emit(one_kernel(BOXES), spec.load(ARCH))
    for line in (
        "tile_box_load_2d(&S[4096], &A_box, &full[1], t, (x * 64));",
        "tile_box_multicast_2d(&S[2048], &A_box_1, &full[0], 0, 0, (unsigned short)(3));",
        "tile_box_store_2d(&C_box, &S[0], 0, 0);",
        "tile_bulk_wait_read<0>();",
        "const __grid_constant__ tile_tensor_map A_box_1",
    ):
        assert line in made.source
    assert "rt.kernel('f', 'MMM', 256, 16400)" in made.host
    assert "rt.tensor_map('A', 16, (64, 32), 128)" in made.host
    assert "map_0(A, (K, M,), ((K * 16) // 8,))" in made.host


def test_a_sum_needs_a_map_that_knows_the_numbers():
    body = """alloc S: shared f32[64, 32] offset 0 layout [m (64:32) k (32:1) swizzle<3,4,3>]
    if t == 0 {
      box_store S[:, :] -> C[0 : +64, 0 : +32] reduce = add
      box_store S[:, :] -> C[0 : +64, 32 : +32]
    }"""
    made = emit(one_kernel(body, "C: global f32[M, 64]"), spec.load(ARCH))
    assert "tile_box_add_2d(&C_box, &S[0], 0, 0);" in made.source
    assert "tile_box_store_2d(&C_box_1, &S[0], 32, 0);" in made.source
    assert "rt.tensor_map('C', 32, (32, 64), 128, 'f32')" in made.host
    assert "rt.tensor_map('C', 32, (32, 64), 128)" in made.host


def test_a_stride_that_no_map_has_is_refused():
    body = BOXES.replace("t : +64", "0 : +64")
    fn = one_kernel(body, "A: global f16[M, 81], C: global f16[M, K]")
    with pytest.raises(TileError, match="stride 81 of axis 0") as caught:
        emit_function(fn, spec.load(ARCH))
    assert caught.value.code == "E3017"


WIDE = """alloc S: shared f16[64, 64] offset 0 layout [m (64:64) k (64:1) swizzle<3,4,3>]
alloc c: local f32[32]
alloc d: local f32[32]
fence registers -> mma
%s"""


def atom(into, k=0, init="false"):
    return (
        f"atom m64nNk16_f16 S[:, {k} : +16], S[{k} : +16, :] -> {into}[:] init = {init}\n"
        f"commit_group mma\n"
    )


def settled(text):
    """After each wait: how many groups it leaves, and the accumulators pinned behind it."""
    found = []
    for line in map(str.strip, text.splitlines()):
        if match := re.match(r"tile_wgmma_wait<(\d)>", line):
            found.append((int(match[1]), ""))
        elif match := re.match(r"tile_settle<32>\((\w)\)", line):
            found[-1] = (found[-1][0], found[-1][1] + match[1])
    return found


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            atom("c") + atom("d") + "settle_count mma <= 1\nsettle_count mma <= 0",
            [(1, "c"), (0, "d")],
        ),
        (
            atom("c") + atom("c") + "settle_count mma <= 1\nsettle_count mma <= 0",
            [(1, ""), (0, "c")],
        ),
        # The group of the trip before is finished first.
        (
            "for i in (0, 4, 1) serial {\nsettle_count mma <= 0\n" + atom("c") + "}\n"
            "settle_count mma <= 0",
            [(0, "c"), (0, "c")],
        ),
        (
            "for i in (0, 4, 1) serial {\n" + atom("c") + "settle_count mma <= 1\n}\n"
            "settle_count mma <= 0",
            [(1, ""), (0, "c")],
        ),
        # A wait that may not have happened finishes nothing.
        (
            atom("c") + "if t < 8 {\nsettle_count mma <= 0\n}\nsettle_count mma <= 0",
            [(0, "c"), (0, "c")],
        ),
    ],
)
def test_finished_accumulators_are_pinned(body, wanted):
    assert settled(text_of(WIDE % body)) == wanted


def test_operands_and_overwriting():
    text = text_of(WIDE % (atom("c", init="true") + atom("c", 16, "t == 0")))
    base = "const unsigned long long S_at"
    assert f"{base} = tile_descriptor<1>(S, 16, 1024);" in text
    assert "_ss<0, 1>(&c[0], S_at, S_at, false);" in text
    assert "tile_descriptor_plus(S_at, 2), tile_descriptor_plus(S_at, 128), t != 0);" in text


def test_a_transposed_operand_needs_16_bits():
    body = """alloc S: shared i8[64, 128] offset 0 layout [m (64:128) k (128:1) swizzle<3,4,3>]
    alloc c: local i32[32]
    atom m64nNk32_i8 S[:, 0 : +32], S[0 : +32, 0 : +64] -> c[:]"""
    with pytest.raises(InternalError, match="reads only along k"):
        text_of(body)


# -- whole programs through the compiler


@pytest.mark.parametrize("name", ["gemm_nn", "gemm_nt", "gemm_cluster"])
def test_products_with_roles_compile_to_what_was_asked(compiler, nvdisasm, tmp_path, name):
    path = PROGRAMS / f"{name}.tir"
    fn = parse_module(path.read_text(), str(path)).functions[0]
    source = emit(fn, spec.load(ARCH)).source
    cubin, usage = compile_source(source, ARCH, compiler=compiler)
    assert usage[name].spill_stores == usage[name].stack == 0
    file = tmp_path / "kernel.cubin"
    file.write_bytes(cubin)
    machine = subprocess.run(
        [nvdisasm, "-c", str(file)], capture_output=True, text=True, check=True
    ).stdout
    # One burst of four instructions: the loop was not unrolled, and nothing waits inside.
    assert machine.count("HGMMA.64x256x16.F32") == 4
    assert machine.count("WARPGROUP.DEPBAR") == 2
    assert machine.count("USETMAXREG") == 2
    assert machine.count("UTMASTG.2D") == 4
    assert ("UTMALDG.2D.MULTICAST" in machine) is (name == "gemm_cluster")
    assert ("UCGABAR_WAIT" in machine) is (name == "gemm_cluster")


def test_the_blocks_of_a_cluster_take_neighbouring_tiles():
    path = PROGRAMS / "gemm_cluster.tir"
    made = emit(parse_module(path.read_text()).functions[0], spec.load(ARCH))
    assert "__launch_bounds__(384, 1) __cluster_dims__(2, 1, 1)" in made.source
    assert "* 2 + tile_cluster_rank() % 2;" in made.source
    launched = []

    class Device:
        def kernel(self, *_):
            return lambda blocks, *_: launched.append(blocks)

        def tensor_map(self, *_):
            return lambda *_: b""

        def workers(self):
            return 7

    namespace = {}
    exec(made.host, namespace)
    call = namespace["bind"](Device())
    call(0, 0, 0, 129, 256, 64)
    call(0, 0, 0, 4096, 4096, 64)
    assert launched == [2, 6]


def test_serialized_instructions_are_an_error():
    log = "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async are serialized"
    with pytest.raises(TileError) as caught:
        raise_for_performance(log)
    assert caught.value.code == "E3004"


# -- tensor maps


@pytest.fixture
def encoder(monkeypatch):
    """Stands in for the driver: remembers what it was asked, and fills the map."""
    asked = []

    def encode(place, kind, rank, address, extents, strides, box, steps, *modes):
        ctypes.memset(place, 7, tensor_maps.MAP_BYTES)
        asked.append(
            (kind, rank.value, address.value, list(extents), list(strides), list(box), modes)
        )
        assert place.value % 64 == 0
        return 0

    monkeypatch.setattr(tensor_maps, "_encoder", lambda: encode)
    return asked


def maps(bits=16, box=(64, 128)):
    return tensor_maps.TensorMaps(name="A", bits=bits, box=box, row_bytes=128)


def test_a_map_is_made_once_for_each_tensor(encoder):
    made = maps()
    assert made(4096, (640, 100), (1280,)) == b"\7" * 128
    assert made(4096, (640, 100), (1280,)) is made(4096, (640, 100), (1280,))
    assert encoder == [(1, 2, 4096, [640, 100], [1280], [64, 128], (0, 3, 2, 0))]
    made(8192, (640, 100), (1280,))
    assert len(encoder) == 2


def test_maps_are_forgotten_before_they_fill_memory(encoder):
    made = maps()
    for n in range(tensor_maps.REMEMBERED + 1):
        made(16 * n, (64, 64), (128,))
    assert len(made._made) == 1
    assert len(encoder) == tensor_maps.REMEMBERED + 1


def test_an_empty_tensor_needs_no_driver():
    assert maps()(0, (0, 5), (0,)) == bytes(128)


@pytest.mark.parametrize(
    ("address", "extents", "strides", "why"),
    [
        (8, (64, 64), (128,), "address"),
        (0, (64, 64), (130,), "a stride of 130 bytes"),
        (0, (64, 64), (1 << 40,), "a stride of"),
        (0, (64, 1 << 33), (128,), "an extent of"),
    ],
)
def test_tensors_that_the_engine_does_not_take(address, extents, strides, why):
    with pytest.raises(TileError, match=why) as caught:
        maps()(address, extents, strides)
    assert caught.value.code == "E3017"


def test_a_driver_that_refuses(monkeypatch):
    monkeypatch.setattr(tensor_maps, "_encoder", lambda: lambda *_: 1)
    with pytest.raises(TileError, match="made no tensor map for A") as caught:
        maps()(0, (64, 64), (128,))
    assert caught.value.code == "E3016"


def test_a_map_among_the_arguments():
    layout = layout_of("iMPM")
    assert layout.size == 4 + 128 + 4 + 8 + 128
    assert layout.offsets == (0, 4, 136, 144)
