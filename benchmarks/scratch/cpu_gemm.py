"""Compare a hand-composed matrix product (pool, resident B panels, A tiles, micro-kernels) with
peers.

It is the loop nest that generated kernels should have, built from the package's own pieces. Ours
and the peer's runs alternate within one process and medians are compared, because other work on the
machine moves both alike. Usage:

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/scratch/cpu_gemm.py [f32|bf16|f16
    ...] [--size N ...]
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from tile_cpu import toolchain
from tile_cpu.codegen_flags import flags_for
from tile_cpu.intrinsics import atoms
from tile_cpu.intrinsics.steps import step_of
from tile_cpu.prelude.index import abi_text, pieces_for
from tile_cpu.runtime import CpuKernel
from tile_cpu.spec import host, load

KERNEL = """
struct gemm {{ const {a}_t *A; const {b}_t *B; {c}_t *C; int64_t M, N, K, chunks, blocks; }};

static inline int64_t least(int64_t a, int64_t b) {{ return a < b ? a : b; }}

static void job(void *context, int64_t index, int32_t worker, char *scratch) {{
  struct gemm *g = context;
  int64_t strip = index / g->chunks, chunk = index % g->chunks;
  int64_t n0 = strip * {BN}, n = least({BN}, g->N - n0), ks = (g->K + {BK} - 1) / {BK};
  int64_t *resident = (int64_t *)scratch;
  {s}_t *C_l = ({s}_t *)(scratch + 64);
  {au}_t *A_s = ({au}_t *)(C_l + {BM} * {LDC});
  {bu}_t *B_s = ({bu}_t *)(A_s + {BM} * {LDA});
  int64_t first = g->blocks * chunk / g->chunks, last = g->blocks * (chunk + 1) / g->chunks;
  for (int64_t block = first; block < last; block++) {{
    int64_t m0 = block * {BM}, m = least({BM}, g->M - m0);
    for (int64_t s = 0; s < ks; s++) {{
      int64_t k0 = s * {BK}, k = least({BK}, g->K - k0);
      if (*resident != strip + 1)
        {pack_b}(k, n, g->B + k0 * g->N + n0, g->N, B_s + s * {SLOT}, {BK}, {BN}, {NR});
      {pack_a}(m, k, g->A + m0 * g->K + k0, g->K, A_s, {LDA}, m, {BK});
      gemm_atom_tile(m, {BN}, k, A_s, B_s + s * {SLOT}, {PANEL}, C_l, {LDC}, s > 0);
    }}
    *resident = strip + 1;
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j += {L}) {{
        {s}x{L} v = tile_load_{s}x{L}(C_l + i * {LDC} + j);
        {c}_t *to = g->C + (m0 + i) * g->N + n0 + j;
        if (n - j >= {L}) tile_store_{c}x{L}(to, {narrow});
        else tile_store_first_{c}x{L}(to, {narrow}, n - j);
      }}
  }}
}}

TILE_EXPORT int32_t gemm(const uint64_t *args, const struct tile_rt *rt) {{
  struct gemm g = {{(const {a}_t *)args[0], (const {b}_t *)args[1], ({c}_t *)args[2],
                   (int64_t)args[3], (int64_t)args[4], (int64_t)args[5], 1, 0}};
  g.blocks = (g.M + {BM} - 1) / {BM};
  int64_t strips = (g.N + {BN} - 1) / {BN}, ks = (g.K + {BK} - 1) / {BK};
  g.chunks = least(g.blocks, (({CHUNKS}) * rt->threads + strips - 1) / strips);
  rt->parallel_for(rt, strips * g.chunks, job, &g,
                   64 + sizeof({s}_t) * {BM} * {LDC} + 4 * {BM} * {LDA} + sizeof({bu}_t) * ks *
                   {SLOT});
  return 0;
}}
"""


def build(kind, out_kind, bm, bn, bk, chunks, spec, threads):
    """A kernel C = A * B for row-major operands of type `kind`."""
    atom = spec.atoms(kind, kind, {"i8": "i32"}.get(kind, "f64" if kind == "f64" else "f32"))[0]
    step, lanes = step_of(atom, spec.features), atoms.atom_lanes(atom, spec)
    group = step.group
    names = atoms.pack_names(atom, spec)
    lda = bk // group + lanes
    total = step.sum_type
    narrow = f"tile_{total}_to_{out_kind}x{lanes}(v)" if out_kind != total else "v"
    words = {
        "a": kind, "b": kind, "c": out_kind, "s": total, "au": step.a_unit, "bu": step.b_unit,
        "L": lanes, "BM": bm, "BN": bn, "BK": bk, "LDA": lda, "LDC": bn + lanes, "NR": atom.n,
        "SLOT": bk // group * bn, "PANEL": bk // group * atom.n, "CHUNKS": chunks,
        "pack_a": names["a"], "pack_b": names["b"], "narrow": narrow,
    }  # fmt: skip
    body = KERNEL.format(**words)
    needs = atoms.atom_needs(atom, spec) | {names["a"], names["b"]}
    needs |= {f"{kind}_t", f"tile_store_{out_kind}x{lanes}", f"tile_store_first_{out_kind}x{lanes}"}
    if out_kind != total:
        needs.add(f"tile_{total}_to_{out_kind}x{lanes}")
    kernel = atoms.atom_source(atom, spec, "gemm_atom", a_row=lda, a_step=1)
    source = "\n".join((abi_text(), pieces_for(needs), kernel, body))
    found = toolchain.find_toolchain()
    out = Path(mkdtemp()) / "gemm.so"
    built = toolchain.compile(source, out, flags_for(spec, found), found)
    return CpuKernel(out, "gemm", ("ptr",) * 3 + ("i64",) * 3, threads), built.seconds


def alternate(ours, peer, clock, rounds=6, batch=5):
    """Medians and minima of both, in turn by batches.

    The pause before each batch lets the other one's idle threads stop spinning: OpenBLAS's and
    OpenMP's do so for tens of milliseconds, on the core that the next run needs.
    """
    times = {ours: [], peer: []}
    for _ in range(rounds):
        for run in (ours, peer):
            time.sleep(0.3)
            run()
            for _ in range(batch):
                start = clock()
                run()
                times[run].append(clock() - start)
    mine, theirs = times[ours], times[peer]
    return statistics.median(mine), statistics.median(theirs), min(mine), min(theirs)


def numpy_peer(size, threads):
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size), dtype=np.float32) for _ in range(2))
    c, want = np.empty_like(a), np.empty_like(a)
    limits = threadpool_limits(threads)  # noqa: F841 -- undone when collected
    return a, b, c, want, lambda: np.matmul(a, b, out=want)


def torch_peer(size, threads, kind):
    import torch

    torch.set_num_threads(threads)
    a, b = (torch.randn(size, size).to(getattr(torch, kind)) for _ in range(2))
    c, want = torch.empty_like(a), torch.empty_like(a)
    return a, b, c, want, lambda: torch.mm(a, b, out=want)


def address(x):
    return x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr()


def compare(kind, size, threads, blocks, spec, rounds):
    bm, bn, bk, chunks = blocks
    out_kind = "bf16" if kind == "bf16" else "f32"
    kernel, _ = build(kind, out_kind, bm, bn, bk, chunks, spec, threads)
    if kind == "bf16":
        a, b, c, want, peer = torch_peer(size, threads, "bfloat16")
    else:
        a, b, c, want, peer = numpy_peer(size, threads)
    if kind == "f16":
        full, _ = build("f32", "f32", bm, bn, bk, chunks, spec, threads)
        pa, pb, pc = a, b, c
        a, b, c = a.astype(np.float16), b.astype(np.float16), np.empty_like(c)
        peer = lambda: full(address(pa), address(pb), address(pc), size, size, size)  # noqa: E731
        want = a.astype(np.float32) @ b.astype(np.float32)
    ours = lambda: kernel(address(a), address(b), address(c), size, size, size)  # noqa: E731
    # On one thread the time that the processor gave us; other work on the machine does not count.
    clock = time.process_time if threads == 1 else time.perf_counter
    t, p, tb, pb_ = alternate(ours, peer, clock, rounds)
    if kind != "f16":
        peer()
    error = float(abs(c - want).max())
    flops = 2 * size**3 / 1e9
    print(
        f"{kind:5s} {size} {threads}T {blocks} ours {flops / t:6.1f} peer {flops / p:6.1f} GFLOP/s "
        f"ratio {p / t:.3f} (best {pb_ / tb:.3f}) max error {error:.2g}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=["f32", "bf16", "f16"])
    parser.add_argument("--size", type=int, nargs="*", default=[1024, 2048])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--blocks", type=int, nargs=4, default=[112, 512, 256, 4])
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    spec = load(host.host_arch())
    for kind in given.kinds:
        for size in given.size:
            for threads in given.threads:
                compare(kind, size, threads, tuple(given.blocks), spec, given.rounds)


if __name__ == "__main__":
    main()
