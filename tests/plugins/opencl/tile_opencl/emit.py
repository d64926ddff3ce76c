"""From a lowered function to OpenCL C: one kernel for each of its kernels, behind the prelude.

All but the words of the language is what every device target shares.
"""

from __future__ import annotations

import math
from importlib.resources import files

from tile_ir.diag import InternalError, TileError
from tile_ir.ops import Assert, Atomic, For, Kernel, Print, Sync, Tiles
from tile_ir.rewrite import declared, walk
from tile_ir.types import ALL_DTYPES
from tile_passes.emit import StmtPrinter, Writer
from tile_passes.emit import kernels as shared
from tile_passes.emit.captures import Forms, parameters
from tile_passes.emit.device_dialect import C_TYPES, Words, device_dialect
from tile_passes.emit.device_statements import (
    RULES,
    print_counted_loop,
    refuse_assert,
    refuse_print,
    updated_code,
)
from tile_passes.emit.identifiers import identifiers
from tile_passes.emit.type_limits import refuse_types

__all__ = ["emit_function"]

WORDS_OF_C = "arena tile rt at old seen was half global local private uchar ushort uint ulong"
SPACES = {"global": "__global ", "shared": "__local "}
FORMS = Forms(pointer="__global {const}{kind} *{name}")
PLACES = {"thread_index": "(int)get_local_id(0)", "warp_index": "(int)get_local_id(0)",
          "lane_index": "0", "device_workers": "(int)get_num_groups(0)"}  # fmt: skip
RENAMED = {"round": "rint", "max_num": "fmax", "min_num": "fmin", "exchange": "xchg"}


def _call(fn, carrier, args):
    """A function of the language: OpenCL has them all, for both widths of floats."""
    inner = ", ".join(args)
    if fn in PLACES:
        return PLACES[fn], False
    if fn in ("popcount", "clz"):
        kind = WORDS.types[f"u{carrier.bits}"]
        return f"(int){fn}(({kind})({inner}))", False
    name = fn.removeprefix("fast_")
    text = f"{RENAMED.get(name, name)}({inner})"
    return (f"({text} != 0)", False) if name.startswith("is") else (text, True)


WORDS = Words(
    call=_call,
    to_f32="as_float((uint)({}))",
    to_f64="as_double((ulong)({}))",
    from_f32="as_uint((float)({}))",
    from_f64="as_ulong((double)({}))",
    abs_f32="fabs({})",
    abs_f64="fabs({})",
    types={**C_TYPES, "bool": "uchar", "i8": "char", "u8": "uchar", "u16": "ushort", "u32": "uint",
           "i64": "long", "u64": "ulong"},
    long_suffix="l",
    spaces=SPACES,
    typed="{}_{}",
    limit="clamp({2}, {0}, {1})",
    array_words="",
)  # fmt: skip


def _sync(p, s):
    if s.id or s.scope != "block":
        raise InternalError("E9001", f"sync {s.scope} reached the emitter", span=s.span)
    p.out.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")


def _atomic(p, s):
    """The device's own on 32-bit integers; else compare and exchange, on words of 32 or 64 bits."""
    buffer, carrier = p.exprs.buffers[s.buffer], p.exprs.dialect.carrier
    kind, value = buffer.dtype, p.exprs.value(s.value)
    place = f"&{p.exprs.name(s.buffer)}[{p.exprs.offset(buffer, s.indices)}]"
    if kind.bits < 32:
        raise TileError("E3101", f"no atomic {s.kind} on {kind}", s.span,
                        ("words of 32 and 64 bits are exchanged",), "Use i32 or f32.")  # fmt: skip
    result = s.result and p.exprs.name(s.result.name)
    if kind.is_int and kind.bits == 32:
        head = f"const {carrier(kind)} {result} = " if result else ""
        p.out.line(f"{head}atomic_{RENAMED.get(s.kind, s.kind)}({place}, {value});")
        return
    if result:
        p.out.line(f"{carrier(kind)} {result};")
    word, exchange = ("ulong", "atom_cmpxchg") if kind.bits == 64 else ("uint", "atomic_cmpxchg")
    space = f"volatile {SPACES[buffer.scope]}{word}"
    with p.out.block(""):
        p.out.line(f"{space} *const at = ({space} *)({place});")
        p.out.line(f"{carrier(kind)} old; {word} seen = *at, was;")
        with p.out.block("do", "} while (seen != was);"):
            p.out.line(f"was = seen; old = as_{carrier(kind)}(was);")
            p.out.line(f"seen = {exchange}(at, was, as_{word}({updated_code(p, s, value)}));")
        if result:
            p.out.line(f"{result} = old;")


STATEMENTS = {**RULES, Assert: refuse_assert, Atomic: _atomic, Print: refuse_print, Sync: _sync}
STATEMENTS[For] = lambda p, s: print_counted_loop(p, s, ["#pragma unroll"] * (s.kind == "unroll"))


def emit_function(fn, spec):
    """Print a function of stage `simt`. Raises TileError E3101 for what OpenCL C does not have."""
    lacking = frozenset(t for t in ALL_DTYPES if t.name not in spec.dtypes)
    refuse_types(fn, lacking, "OpenCL C has no such arithmetic", "Convert it to f16 before.")
    names = identifiers(fn, declared(fn), frozenset(WORDS_OF_C.split()))
    exprs = shared.DeviceExprPrinter(device_dialect(WORDS), declared(fn), names, set())
    printer = StmtPrinter(exprs, Writer(), STATEMENTS)
    made = tuple(_kernel(printer, fn, k) for k in walk(fn.body) if isinstance(k, Kernel))
    strict = "#pragma OPENCL FP_CONTRACT OFF\n" if fn.numerics == "strict" else ""
    prelude = files(__package__).joinpath("prelude.cl").read_text(encoding="utf-8")
    return shared.Source(text=f"{strict}{prelude}\n{printer.out.text()}", kernels=made, names=names)


def _kernel(p, fn, kernel):
    name, size = shared.kernel_name(fn, kernel), shared.arena_bytes(kernel)
    taken, threads = parameters(p.exprs, kernel, FORMS), math.prod(kernel.threads)
    p.out.line(f"__kernel __attribute__((reqd_work_group_size({threads}, 1, 1)))")
    with p.out.block(f"void {name}({', '.join(t.declaration for t in taken)})"):
        if size:
            p.out.line(f"__local uchar arena[{size}] __attribute__((aligned(16)));")
        place = ("(int)get_group_id(0)", PLACES["device_workers"])
        p.rules[Tiles] = lambda _, s: shared.print_tiles(p, kernel, s, *place)
        p.body(kernel.body)
    return shared.EmittedKernel(name=name, parameters=taken, threads=threads, shared_bytes=size)
