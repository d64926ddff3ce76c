"""Launching: every job once, on how many threads, with which scratch, and what failures look
like."""

import array
import os
import subprocess
import sys
import threading
import tracemalloc

import pytest

from tile_cpu import knobs, pool, runtime, toolchain
from tile_cpu.prelude.index import abi_text
from tile_cpu.runtime import CpuKernel
from tile_ir.diag import InternalError, TileError

KERNELS = r"""
struct context { int64_t *out; const struct tile_rt *rt; int64_t njobs, extra; };

static void count_job(void *p, int64_t job, int32_t worker, char *scratch) {
  ((struct context *)p)->out[job]++;
}
TILE_EXPORT int32_t count(const uint64_t *args, const struct tile_rt *rt) {
  struct context c = {(int64_t *)args[0], rt, (int64_t)args[1], 0};
  rt->parallel_for(rt, c.njobs, count_job, &c, 0);
  return 0;
}

static void nested_job(void *p, int64_t job, int32_t worker, char *scratch) {
  struct context *c = p, inner = {c->out + job * c->njobs, c->rt, c->njobs, 0};
  scratch[100] = 7;
  c->rt->parallel_for(c->rt, c->njobs, count_job, &inner, 1 << 12);
  if (scratch[100] != 7) c->out[0] = -1000;
}
TILE_EXPORT int32_t nested(const uint64_t *args, const struct tile_rt *rt) {
  struct context c = {(int64_t *)args[0], rt, (int64_t)args[1], 0};
  rt->parallel_for(rt, c.njobs, nested_job, &c, 1 << 12);
  return 0;
}

/* out[job] = first job of this worker, by the zeroed first line; -1 where memory is misaligned. */
static void scratch_job(void *p, int64_t job, int32_t worker, char *scratch) {
  struct context *c = p;
  int64_t *line = (int64_t *)scratch;
  if (line[0] == 0) line[0] = job + 1;
  else if (line[0] > c->njobs) line[0] = -2;
  for (int64_t i = 64; i < c->extra; i += 64) scratch[i] = (char)worker;
  c->out[job] = (uint64_t)scratch % 64 ? -1 : line[0];
}
TILE_EXPORT int32_t scratches(const uint64_t *args, const struct tile_rt *rt) {
  struct context c = {(int64_t *)args[0], rt, (int64_t)args[1], (int64_t)args[2]};
  rt->parallel_for(rt, c.njobs, scratch_job, &c, c.extra);
  return 0;
}

static void fail_job(void *p, int64_t job, int32_t worker, char *scratch) {
  struct context *c = p;
  if (job >= c->extra) {
    uint64_t values[2] = {(uint64_t)job, (uint64_t)c->extra};
    c->rt->fail(c->rt, "assertion failed: {} < {}\n  at k.py:3", "iu", values);
    return;
  }
  __atomic_fetch_add(c->out, 1, __ATOMIC_RELAXED);
}
TILE_EXPORT int32_t fails(const uint64_t *args, const struct tile_rt *rt) {
  struct context c = {(int64_t *)args[0], rt, (int64_t)args[1], (int64_t)args[2]};
  rt->parallel_for(rt, c.njobs, fail_job, &c, 0);
  return 0;
}

TILE_EXPORT int32_t prints(const uint64_t *args, const struct tile_rt *rt) {
  rt->print(rt, "i={} u={} f={} b={} x={} {}\n", "iufbx", args);
  return 0;
}
TILE_EXPORT int32_t chatters(const uint64_t *args, const struct tile_rt *rt) {
  for (int64_t i = 0; i < (int64_t)args[0]; i++) rt->print(rt, "0123456789\n", "", 0);
  return 0;
}
TILE_EXPORT int32_t narrow(const uint64_t *args, const struct tile_rt *rt) {
  for (int i = 0; i < 6; i++) ((uint64_t *)args[0])[i] = args[i];
  return 0;
}
TILE_EXPORT int32_t workspaces(const uint64_t *args, const struct tile_rt *rt) {
  char *memory = rt->workspace(rt, (int64_t)args[1]);
  if (!memory) return 0;
  memory[args[1] - 1] = 1;
  *(int64_t *)args[0] = (uint64_t)memory % 64 == 0;
  return 0;
}
TILE_EXPORT int32_t threads(const uint64_t *args, const struct tile_rt *rt) {
  ((int64_t *)args[0])[0] = rt->threads;
  ((int64_t *)args[0])[1] = rt->version;
  return 0;
}
TILE_EXPORT int32_t broken(const uint64_t *args, const struct tile_rt *rt) { return 5; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    out = tmp_path_factory.mktemp("runtime") / "kernels.so"
    return toolchain.compile(abi_text() + KERNELS, out, ("-O2",)).path


def numbers(count):
    """An array of zeros and its address."""
    values = array.array("q", [0] * count)
    return values, values.buffer_info()[0]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("njobs", [0, 1, 2, 7, 1000])
def test_every_job_runs_once(library, threads, njobs):
    kernel = CpuKernel(library, "count", ("ptr", "i64"), threads)
    out, address = numbers(max(njobs, 1))
    for _ in range(20):
        kernel(address, njobs)
    assert list(out[:njobs]) == [20] * njobs


def test_a_call_inside_a_job_runs_on_that_thread_with_its_own_scratch(library):
    out, address = numbers(12 * 12)
    CpuKernel(library, "nested", ("ptr", "i64"), 2)(address, 12)
    assert list(out) == [1] * 144


def test_scratch_is_aligned_kept_and_marked_new_for_each_call(library):
    kernel = CpuKernel(library, "scratches", ("ptr", "i64", "i64"), 3)
    for size in (64, 4096, 3 << 20, 100):
        out, address = numbers(60)
        kernel(address, 60, size)
        firsts = set(out)
        assert min(firsts) >= 1
        assert max(firsts) <= 60
        assert len(firsts) <= 3
        assert all(out[first - 1] == first for first in firsts)


def test_many_python_threads_may_launch_at_once(library):
    kernel = CpuKernel(library, "count", ("ptr", "i64"), 2)
    outs = [numbers(500) for _ in range(8)]

    def work(address):
        for _ in range(50):
            kernel(address, 500)

    workers = [threading.Thread(target=work, args=(address,)) for _, address in outs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(list(out) == [50] * 500 for out, _ in outs)


def test_a_forked_child_starts_its_own_helpers(library):
    # In a process of its own: forking this one would copy the test runner.
    script = f"""
import array, os
from tile_cpu.runtime import CpuKernel
kernel = CpuKernel({str(library)!r}, "count", ("ptr", "i64"), 2)
out = array.array("q", [0] * 300)
kernel(out.buffer_info()[0], 300)
child = os.fork()
for _ in range(100):
    kernel(out.buffer_info()[0], 300)
good = list(out) == [101] * 300
if child == 0:
    os._exit(0 if good else 1)
print(good, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == ("True 0", "")


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="helpers can be kept off the caller's processor only where Linux gives two",
)
def test_helpers_run_anywhere_but_where_the_caller_is(library):
    # In a process of its own: other libraries' threads would be among those listed.
    script = f"""
import array, os
from tile_cpu.runtime import CpuKernel
kernel = CpuKernel({str(library)!r}, "count", ("ptr", "i64"), 2)
out = array.array("q", [0] * 300)
allowed = os.sched_getaffinity(0)
for cpu in sorted(allowed)[:2]:
    os.sched_setaffinity(0, {{cpu}})
    os.sched_setaffinity(0, allowed)  # the caller stays there, but is free to leave
    kernel(out.buffer_info()[0], 300)
    kernel(out.buffer_info()[0], 300)
helper, = (int(t) for t in os.listdir("/proc/self/task") if int(t) != os.getpid())
print(len(allowed - os.sched_getaffinity(helper)), list(out) == [4] * 300)
os.sched_setaffinity(0, {{min(allowed)}})
kernel(out.buffer_info()[0], 300)
print(len(os.sched_getaffinity(helper)) > 0, list(out) == [5] * 300)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.split(), done.stderr) == (["1", "True", "True", "True"], "")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failed_assertion_stops_the_launch_and_carries_its_message(library, threads):
    kernel = CpuKernel(library, "fails", ("ptr", "i64", "i64"), threads)
    out, address = numbers(1)
    with pytest.raises(TileError) as caught:
        kernel(address, 1_000_000, 30)
    assert caught.value.code == "E0805"
    assert caught.value.message.startswith("assertion failed: ")
    assert caught.value.message.endswith(" < 30\n  at k.py:3")
    assert out[0] <= 30
    kernel(address, 10, 30)
    assert 10 <= out[0] <= 40


def test_an_assertion_is_placed_on_the_line_of_the_user():
    message, span = runtime._placed("A must be positive\n  at /a/k.py:12:9")
    assert message == "A must be positive"
    assert (span.file, span.line, span.col) == ("/a/k.py", 12, 8)
    assert runtime._placed("n > 0\n  at k.py:3") == ("n > 0\n  at k.py:3", None)


def test_prints_reach_standard_output_in_one_piece(library, capsys):
    kernel = CpuKernel(library, "prints", ("i64", "u64", "f64", "bool", "u64"))
    kernel(-5, 2**64 - 1, 0.1, 1, 255)
    expected = "i=-5 u=18446744073709551615 f=0.1 b=True x=0xff {}\n"
    assert capsys.readouterr().out == expected


def test_endless_output_is_cut_and_says_so(library, capsys):
    CpuKernel(library, "chatters", ("i64",))(100_000)
    out = capsys.readouterr().out
    assert len(out) <= 65536
    assert out.startswith("0123456789\n0123456789\n")
    assert out.endswith("... (more output was dropped)\n")


def test_every_kind_of_argument_fills_its_slot(library):
    kernel = CpuKernel(library, "narrow", ("ptr", "i8", "u16", "bool", "f32", "f64"))
    out, address = numbers(6)
    kernel(address, -1, 65535, True, 1.5, -2.0)
    assert list(out)[1:] == [-1, 65535, 1, 0x3FC00000, -(2**62)]


def test_a_workspace_is_aligned_and_large(library):
    out, address = numbers(1)
    kernel = CpuKernel(library, "workspaces", ("ptr", "i64"))
    for size in (1, 4096, 5 << 20):
        out[0] = 0
        kernel(address, size)
        assert out[0] == 1


@pytest.mark.parametrize("entry", ["workspaces", "scratches"])
def test_memory_that_does_not_exist_is_an_error(library, entry):
    out, address = numbers(4)
    size = 1 << 46
    kinds = ("ptr", "i64") if entry == "workspaces" else ("ptr", "i64", "i64")
    args = (address, size) if entry == "workspaces" else (address, 4, size)
    with pytest.raises(TileError, match="no memory for the scratch") as caught:
        CpuKernel(library, entry, kinds)(*args)
    assert caught.value.code == "E0806"
    assert list(out) == [0] * 4


def test_the_number_of_threads_is_given_or_set_or_found(library, monkeypatch):
    out, address = numbers(2)
    CpuKernel(library, "threads", ("ptr",), 5)(address)
    assert list(out) == [5, 1]
    monkeypatch.setenv("TILE_NUM_THREADS", "3")
    CpuKernel(library, "threads", ("ptr",))(address)
    assert out[0] == 3
    monkeypatch.delenv("TILE_NUM_THREADS")
    CpuKernel(library, "threads", ("ptr",))(address)
    assert out[0] == knobs.available_cpus()


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5"])
def test_a_number_of_threads_that_is_none_is_an_error(monkeypatch, text):
    monkeypatch.setenv("TILE_NUM_THREADS", text)
    with pytest.raises(TileError, match="TILE_NUM_THREADS") as caught:
        knobs.num_threads()
    assert caught.value.code == "E0807"


def test_helpers_are_made_on_demand_and_kept(library):
    kernel = CpuKernel(library, "count", ("ptr", "i64"), 4)
    out, address = numbers(100)
    kernel(address, 100)
    before = pool.library().tile_pool_helpers()
    kernel(address, 100)
    assert pool.library().tile_pool_helpers() == before >= 3
    assert list(out) == [2] * 100


def test_the_pool_is_one_library(library):
    found = []
    workers = [threading.Thread(target=lambda: found.append(pool.library())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(one is pool.library() for one in found)
    assert len(found) == 4


def test_launches_leave_no_memory_behind(library):
    kernel = CpuKernel(library, "count", ("ptr", "i64"), 2)
    out, address = numbers(10)
    kernel(address, 10)
    tracemalloc.start()
    for _ in range(2000):
        kernel(address, 10)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 10_000
    assert list(out) == [2001] * 10


def test_libraries_and_entries_that_do_not_exist(library, tmp_path):
    (tmp_path / "broken.so").write_bytes(b"not a library")
    with pytest.raises(TileError, match="cannot load") as caught:
        CpuKernel(tmp_path / "broken.so", "f", ())
    assert caught.value.code == "E0804"
    with pytest.raises(InternalError, match="no entry nothing"):
        CpuKernel(library, "nothing", ())


def test_an_entry_that_returns_an_error_is_ours(library):
    with pytest.raises(InternalError, match="broken returned an error") as caught:
        CpuKernel(library, "broken", ())()
    assert caught.value.code == "E9001"
