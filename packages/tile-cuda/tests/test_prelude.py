"""Every piece of the prelude compiles where it may, and is the instruction that it says it is."""

import re

import pytest

from tile_cuda import spec
from tile_cuda.intrinsics.matrix import atom_registers, mma_wrapper, wgmma_wrapper
from tile_cuda.prelude.index import defined_names, mentioned, pieces_for
from tile_ir.diag import InternalError

ALL = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120")
BULK = ("sm_90a", "sm_100a", "sm_120")

# Call -> (opcode, architectures).
CALLS = {
    "tile_ldmatrix_x1(r, s)": ("LDSM", ALL),
    "tile_ldmatrix_x2(r, s)": ("LDSM", ALL),
    "tile_ldmatrix_x4(r, s)": ("LDSM", ALL),
    "tile_ldmatrix_trans_x1(r, s)": ("LDSM.*T", ALL),
    "tile_ldmatrix_trans_x2(r, s)": ("LDSM.*T", ALL),
    "tile_ldmatrix_trans_x4(r, s)": ("LDSM.*T", ALL),
    "tile_stmatrix_x2(s, r)": ("STSM", BULK),
    "tile_stmatrix_x4(s, r)": ("STSM", BULK),
    "tile_stmatrix_trans_x4(s, r)": ("STSM", BULK),
    "tile_copy_async<16>(s, g); tile_copy_commit(); tile_copy_wait<1>()": ("LDGSTS", ALL[1:]),
    "tile_copy_async<4>(s, g, 2); tile_copy_commit(); tile_copy_wait<0>()": ("LDGSTS", ALL[1:]),
    "tile_phase_init(s, 1); tile_phase_init_fence()": ("SYNCS", BULK),
    "tile_phase_expect(s, 64); tile_phase_arrive(s); tile_phase_wait(s, 0)": ("SYNCS", BULK),
    "tile_phase_arrive_at(s, 1)": ("SYNCS", BULK),
    "tile_box_load_1d(s, map, s, 0)": ("UTMALDG.1D", BULK),
    "tile_box_load_2d(s, map, s, 0, 1)": ("UTMALDG.2D", BULK),
    "tile_box_load_3d(s, map, s, 0, 1, 2)": ("UTMALDG.3D", BULK),
    "tile_box_load_4d(s, map, s, 0, 1, 2, 3)": ("UTMALDG.4D", BULK),
    "tile_box_multicast_2d(s, map, s, 0, 1, 3)": ("UTMALDG.2D.*MULTICAST", BULK[:2]),
    "tile_box_load_first_2d(s, map, s, 0, 1)": ("UTMALDG.2D", BULK),
    "tile_box_load_last_4d(s, map, s, 0, 1, 2, 3)": ("UTMALDG.4D", BULK),
    "tile_box_multicast_first_3d(s, map, s, 0, 1, 2, 3)": ("UTMALDG.3D.*MULTICAST", BULK[:2]),
    "tile_box_prefetch_2d(map, 0, 1); tile_prefetch_map(map)": ("UTMAPF", BULK),
    "tile_box_store_2d(map, s, 0, 1); tile_bulk_commit(); tile_bulk_wait<0>()": (
        "UTMASTG.2D",
        BULK,
    ),
    "tile_box_store_3d(map, s, 0, 1, 2); tile_bulk_wait_read<1>()": ("UTMASTG.3D", BULK),
    "tile_box_load_5d(s, map, s, 0, 1, 2, 3, 4)": ("UTMALDG.5D", BULK),
    "tile_box_multicast_5d(s, map, s, 0, 1, 2, 3, 4, 3)": ("UTMALDG.5D.*MULTICAST", BULK[:2]),
    "tile_box_store_1d(map, s, 0); tile_box_store_5d(map, s, 0, 1, 2, 3, 4)": ("UTMASTG.5D", BULK),
    "tile_box_add_4d(map, s, 0, 1, 2, 3)": ("UTMAREDG.4D", BULK),
    "tile_stmatrix_x1(s, r); tile_stmatrix_trans_x1(s, r); tile_stmatrix_trans_x2(s, r)": (
        "STSM.*T",
        BULK,
    ),
    "tile_box_add_2d(map, s, 0, 1)": ("UTMAREDG.2D", BULK),
    "tile_bulk_load(s, g, 64, s)": ("UBLKCP", BULK),
    "tile_fence_async()": ("FENCE.VIEW.ASYNC", BULK),
    "tile_registers_more<200>(); tile_registers_less<40>()": ("USETMAXREG", BULK[:2]),
    "tile_named_sync(2, 64); tile_named_arrive(3, 64)": ("BAR", ALL),
    "tile_cluster_arrive(); tile_cluster_wait(); r[0] = tile_cluster_rank()": ("UCGABAR", BULK[:2]),
    "r[0] = tile_elect()": ("ELECT", BULK),
    "tile_launch_dependents(); tile_wait_dependency()": ("ACQBULK", BULK),
    "r[0] = tile_any(r[1]) + tile_shuffle_xor(r[2], 1) + tile_lane() + tile_warp()": ("SHFL", ALL),
    "tile_reduce_add_f32x4((float *)g, 1, 2, 3, 4)": ("RED.*128|REDG|RED", BULK[:2]),
    "tile_pin(__uint_as_float(r[0]), s)": ("ISETP", ALL),
}  # fmt: skip


def kernel(number, call):
    return f"""extern "C" __global__ void __launch_bounds__(128, 1)
k{number}(char *g, const tile_tensor_map *map) {{
  extern __shared__ __align__(1024) unsigned char s[];
  alignas(16) unsigned r[4];
  for (int i = 0; i < 4; i++) r[i] = ((unsigned *)g)[threadIdx.x * 4 + i];
  {call};
  for (int i = 0; i < 4; i++) ((unsigned *)g)[threadIdx.x * 4 + i] = r[i] + ((unsigned *)s)[i];
}}
"""


def by_kernel(machine):
    """Kernel -> its instructions, from the disassembler's sections."""
    parts = re.split(r"^\s*\.section\s+\.text\.(\w+),", machine, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_wrappers_are_their_instructions(instructions, arch):
    calls = [(c, opcode) for c, (opcode, archs) in CALLS.items() if arch in archs]
    text = "".join(kernel(n, call) for n, (call, _) in enumerate(calls))
    machine = by_kernel(instructions(text, arch))
    assert len(machine) == len(calls)
    for n, (call, opcode) in enumerate(calls):
        assert re.search(rf"\b{opcode}", machine[f"k{n}"]), call


@pytest.mark.parametrize("arch", ALL)
def test_every_synchronous_atom_compiles(instructions, arch):
    own = dict(mma_wrapper(a) for a in spec.load(arch).matrix.values() if a.engine == "sync")
    calls = " ".join(f"{name}(x, x + 8, x + 16);" for name in own)
    text = f"""extern "C" __global__ void k(double *p) {{
  double x[24];
  for (int i = 0; i < 24; i++) x[i] = p[i * 32 + threadIdx.x];
  {calls}
  for (int i = 0; i < 8; i++) p[i * 32 + threadIdx.x] = x[i];
}}
"""
    machine = instructions(text, arch, own)
    kinds = {"HMMA", "IMMA"} | ({"DMMA"} if arch in ("sm_80", "sm_90a") else set())
    assert kinds <= set(re.findall(r"\b[A-Z]MMA", machine))
    assert f"HMMA.{'1688' if arch == 'sm_75' else '16816'}.F32" in machine


def wide_kernel(kernel_name, atom, n, source, steps=1):
    name, text = wgmma_wrapper(atom, n, source, steps)
    flags = ", ".join("0" for _ in re.findall(r"int [AB]_MAJOR|int [AB]\d", text))
    c = atom_registers(atom.at_n(n), "accumulator")
    operand = "ra" if source == "rs" else "tile_descriptor<1>(s, 16, 1024)"
    body = f"""extern "C" __global__ void __launch_bounds__(128) {kernel_name}({c.kind} *p) {{
  extern __shared__ __align__(1024) unsigned char s[];
  {c.kind} c[{c.count}];
  unsigned ra[{4 * steps}];
  for (int i = 0; i < {c.count}; i++) c[i] = p[i];
  for (int i = 0; i < {4 * steps}; i++) ra[i] = ((unsigned *)p)[i + 1000];
  tile_wgmma_fence();
  {name}{f"<{flags}>" if flags else ""}(c, {operand}, tile_descriptor<1>(s, 16, 1024), true);
  tile_wgmma_commit();
  tile_wgmma_wait<0>();
  tile_settle<{c.count}>(c);
  for (int i = 0; i < {c.count}; i++) p[threadIdx.x * {c.count} + i] = c[i];
}}
"""
    return {name: text}, body


def test_asynchronous_atoms_compile(instructions):
    own, text, shapes = {}, "", {}
    for atom in spec.load("sm_90a").matrix.values():
        for n, source in ((16, "ss"), (16, "rs"), (128, "ss")) if atom.engine == "async" else ():
            name = f"k{len(shapes)}"
            wrapper, body = wide_kernel(name, atom, n, source)
            own |= wrapper
            text += body
            shapes[name] = f"64x{n}x{atom.k}"
    machine = by_kernel(instructions(text, "sm_90a", own))
    assert len(shapes) == 18
    for name, shape in shapes.items():
        assert re.search(rf"\b[HQI]GMMA\.{shape}", machine[name]), shape


@pytest.mark.parametrize("name", ["m64nNk16_f16", "m64nNk8_tf32", "m64nNk32_i8"])
def test_steps_of_one_statement_are_so_many_instructions(instructions, name):
    atom = spec.load("sm_90a").matrix[name]
    own, text = {}, ""
    for source in ("ss", "rs"):
        wrapper, body = wide_kernel(f"k_{source}", atom, 64, source, steps=3)
        own |= wrapper
        text += body
    machine = by_kernel(instructions(text, "sm_90a", own))
    for source in ("ss", "rs"):
        assert len(re.findall(rf"\b[HI]GMMA\.64x64x{atom.k}", machine[f"k_{source}"])) == 3


def test_only_what_is_mentioned_is_printed_and_needs_come_first():
    text = pieces_for(["tile_f64_to_bf16"])
    assert (
        text.index("#define TILE_FN") < text.index("tile_to_odd") < text.index("tile_f64_to_bf16")
    )
    assert "tile_box_load" not in text
    assert pieces_for(["tile_load", "tile_map"]) == pieces_for(["tile_map", "tile_load"])


def test_overloads_come_together():
    assert pieces_for(["tile_map"]).count("TILE_FN auto tile_map(") == 3


def test_every_name_of_the_prelude_has_all_that_it_needs():
    names = defined_names()
    assert len(names) > 140
    text = pieces_for(names)
    assert set(mentioned(text)) - names <= {"tile_"}


def test_an_unknown_name_is_our_defect():
    with pytest.raises(InternalError) as caught:
        pieces_for(["tile_nothing"])
    assert caught.value.code == "E3090"
