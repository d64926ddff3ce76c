"""Give products to matrix kernels: lay their operands out as those read them, and say what part of
a tile is real.

A kernel reads A as rows of a tile and B as packed panels. An operand that is only copied in from
memory and multiplied gets that layout itself, so that the copy is the packing; any other is packed
just before the product. Products only cover what a ragged tile really holds: rows and columns
beyond it are neither copied nor computed.

    before:  copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip
             gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
    after:   let A_s_rows = min(M - by * 64, 64)
             let A_s_cols = min(K - k * 32, 32)
             copy A[by * 64 : +A_s_rows, k * 32 : +A_s_cols] -> A_s[0 : +A_s_rows, 0 : +A_s_cols]
             atom outer_f32 A_s[0 : +A_s_rows, 0 : +A_s_cols], B_s[0 : +A_s_cols, :]
                            -> C_l[0 : +A_s_rows, :]

A block that products read in layouts of their own has no buffer: each packs it from memory. A
result that is only copied out goes to memory itself (`results`).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_cpu.intrinsics.steps import step_of
from tile_cpu.lower.operands import Operand, Use, uses_of
from tile_cpu.lower.results import Result, final_results
from tile_cpu.plan.plan_atoms import LOOPS, gemm_keys
from tile_ir import build as b
from tile_ir.core import Buffer, Range, Region, Stage
from tile_ir.expr import Const, Expr, Var
from tile_ir.opdef import Access, bodies
from tile_ir.ops import Alloc, Atom, Copy, Fill, Gemm, If, Kernel, Let
from tile_ir.rewrite import all_effects, declared, map_stmts, replace, walk, with_body
from tile_ir.types import i32
from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.facts import Facts
from tile_passes.base import Pass, PassContext
from tile_passes.lower.context import ZERO, is_unit, long_axes, window
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_ir.core import Function
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import MatrixAtom, TargetSpec
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "lower_mma"]

AXES = ("rows", "cols")
ALWAYS = b.const(True)


@dataclass(slots=True)
class _Mma:
    """The rewriting of one kernel."""

    spec: TargetSpec
    buffers: dict[str, Buffer]
    names: Names
    atoms: dict[Gemm, MatrixAtom]
    uses: dict[str, list[Use]]
    body: Body
    direct: dict[str, Operand] = field(default_factory=dict)
    """Operands whose buffer itself takes the layout of the kernel."""
    left: dict[str, Copy | None] = field(default_factory=dict)
    """Blocks that each product packs from memory -> the copy, as far as there is something."""
    results: dict[str, Result] = field(default_factory=dict)
    """Results that go to memory without a tile."""
    gone: set[str] = field(default_factory=set)
    """Tiles that nobody uses any more."""
    valid: dict[str, tuple[Expr, Expr]] = field(default_factory=dict)
    """How much of an operand's tile was copied in, where that is not all of it."""
    named: dict[Var, Expr] = field(default_factory=dict)
    """Names of such extents -> what they are."""

    def choose(self) -> None:
        """Find the operands whose buffers can take the kernel's layout."""
        for gemm, atom in self.atoms.items():
            for role in ("a", "b"):
                operand = self.operand(gemm, atom, role)
                uses = self.uses[operand.buffer.name]
                if operand.fits_in_place(uses, self.buffers):
                    self.direct[operand.buffer.name] = operand
                elif self._packed_anew(uses):
                    self.left[operand.buffer.name] = None
        self.results = final_results(self.body, self.atoms, self.uses, self.buffers)

    def _packed_anew(self, uses: list[Use]) -> bool:
        """Whether a block is only copied in, from memory that stays as it is, and packed by the
        products that follow in the same body."""
        copies = [u.stmt for u in uses if u.role == "to"]
        products = [u.stmt for u in uses if u.role in ("a", "b")]
        if len(copies) != 1 or len(uses) != 1 + len(products):
            return False
        (copy,) = copies
        return (
            isinstance(copy, Copy)
            and all(s in self.atoms for s in products)
            and _follow(self.body, copy, products, self.buffers)
            and all(self._packs(u, copy) for u in uses if u.role in ("a", "b"))
            and all(u.role == "from" for u in self.uses[copy.src.buffer])
        )

    def _packs(self, use: Use, copy: Copy) -> bool:
        """Whether a product packs the block that a copy brings, and can pack its source as well."""
        assert isinstance(use.stmt, Gemm)
        operand = self.operand(use.stmt, self.atoms[use.stmt], use.role)
        whole = copy.dst == operand.region == b.whole(operand.buffer)
        memory = whole and operand.comes_from_memory(copy, self.buffers)
        return memory and operand.buffer.rank == 2 and not operand.readable_as_is()

    def operand(self, gemm: Gemm, atom: MatrixAtom, role: str) -> Operand:
        """One operand of a product with what the kernel wants of it."""
        region: Region = getattr(gemm, role)
        return Operand(
            role=role,
            region=region,
            buffer=self.buffers[region.buffer],
            transposed=gemm.transpose_a if role == "a" else gemm.transpose_b,
            atom=atom,
            step=step_of(atom, self.spec.features),
            vector_bytes=self.spec.vector_unit.bytes,
        )

    # -- statements

    def visit(self, s: Stmt, facts: Facts) -> Stmt | Body | None:
        if isinstance(s, Alloc):
            return self._alloc(s)
        if isinstance(s, Copy) and s.dst.buffer in self.direct:
            return self._copy(s, facts)
        if isinstance(s, Copy) and s.dst.buffer in self.left:
            return self._leave(s, facts)
        if isinstance(s, Copy) and s.src.buffer in self.gone:
            return ()
        if isinstance(s, Gemm) and s in self.atoms:
            return self._gemm(s, facts)
        return None

    def _alloc(self, s: Alloc) -> Stmt | None:
        operand = self.direct.get(s.buffer.name)
        if operand is None:
            return None
        return replace(s, buffer=operand.packed_buffer(s.buffer.name))

    def _copy(self, s: Copy, facts: Facts) -> Stmt | Body | None:
        """Copy what is there; remember how much that is."""
        if not s.clip:
            return None
        there = self._there(s, facts)
        contracted = self._contracted(s)
        if there is not ALWAYS and contracted not in long_axes(s.dst):
            return self._staged(s)
        made = self._cut(s, facts, {contracted: there} if there is not ALWAYS else {})
        return self._staged(s) if made is None else made

    def _leave(self, s: Copy, facts: Facts) -> Body | None:
        """Leave a block in memory for the products that pack it; a copy where that cannot be."""
        made: Body | None = (s,)
        if s.clip:
            made = self._cut(s, facts, {}) if self._there(s, facts) is ALWAYS else None
        if made is None:
            del self.left[s.dst.buffer]
            return None
        *lets, copy = made
        assert isinstance(copy, Copy)
        self.left[s.dst.buffer] = copy
        self.gone.add(s.dst.buffer)
        return tuple(lets)

    def _cut(self, s: Copy, facts: Facts, only: dict[int, Expr]) -> Body | None:
        """The copy of what there is, behind names for how much that is; `only` has conditions
        without which nothing is there along an axis. None where zeros beside the source would not
        do, or it begins inside the block."""
        src = self.buffers[s.src.buffer]
        safe = src.safe_value
        if safe is not None and not (isinstance(safe, Const) and safe.value == 0):
            return None  # what lies outside is no zero, so it takes part in the product
        axes, to = long_axes(s.src), long_axes(s.dst)
        windows = [window(s.src.ranges[axis], src.shape[axis], facts) for axis in axes]
        if any(w.low is not ZERO for w in windows):
            return None
        lets: list[Stmt] = []
        extents: list[Expr] = []
        for w, target in zip(windows, to, strict=True):
            high = b.select(only[target], w.high, 0) if target in only else w.high
            extents.append(self._named(high, f"{s.dst.buffer}_{AXES[target]}", lets, s))
        if not lets:
            return (replace(s, clip=False),)
        sizes = dict(zip(to, extents, strict=True))
        rows, cols = (sizes.get(a, r.extent) for a, r in enumerate(s.dst.ranges))
        self.valid[s.dst.buffer] = (rows, cols)
        made = replace(
            s,
            src=_shrunk(s.src, axes, extents),
            dst=_shrunk(s.dst, to, extents),
            clip=False,
        )
        return (*lets, made)

    def _staged(self, s: Copy) -> Body | None:
        """Copy with all its guards into a plain tile, then pack the whole of that."""
        operand = self.direct[s.dst.buffer]
        if operand.is_plain:
            return None
        plain = dataclasses.replace(operand.buffer, name=self.names.fresh(f"{s.dst.buffer}_plain"))
        self.buffers[plain.name] = plain
        return (
            Alloc(buffer=plain, span=s.span),
            replace(s, dst=b.whole(plain)),
            Copy(src=b.whole(plain), dst=s.dst, span=s.span),
        )

    def _there(self, s: Copy, facts: Facts) -> Expr:
        """Whether the axes of which a copy takes one place have that place: where they have not,
        the block is empty, and the product adds nothing."""
        holds: Expr = ALWAYS
        for r, extent in zip(s.src.ranges, self.buffers[s.src.buffer].shape, strict=True):
            for cond in (b.ge(r.start, 0), b.lt(r.start, extent)) if is_unit(r) else ():
                if facts.prove(cond) is not True:
                    holds = cond if holds is ALWAYS else b.land(holds, cond)
        return holds

    def _contracted(self, s: Copy) -> int:
        """The axis of an operand's tile that is summed over."""
        operand = self.direct[s.dst.buffer]
        return int((operand.role == "a") != operand.transposed)

    def _named(self, e: Expr, stem: str, lets: list[Stmt], s: Stmt) -> Expr:
        if isinstance(e, Const):
            return e
        var = self.names.var(stem, i32)
        lets.append(Let(var=var, value=b.cast(e, i32), span=s.span))
        self.named[var] = e
        return var

    def _gemm(self, s: Gemm, facts: Facts) -> Body:
        atom = self.atoms[s]
        out: list[Stmt] = []
        a, b_ = (self._ready(self.operand(s, atom, role), out, s) for role in ("a", "b"))
        m, k = self._sizes(s.a, s.transpose_a)
        k_of_b, n = self._sizes(s.b, s.transpose_b)
        k = _least(k, k_of_b)
        result = self.results.get(s.c.buffer)
        c = None if result is None else result.region((m, n), self.named, self.buffers, facts)
        if c is None:
            c = _part(s.c, m, n)
            out += self._clear_rest(s, m, n)
        else:
            self.gone.add(s.c.buffer)
        out.append(
            Atom(
                name=atom.name,
                a=_part(a, *((k, m) if s.transpose_a else (m, k))),
                b=_part(b_, *((n, k) if s.transpose_b else (k, n))),
                c=c,
                init=s.init,
                transpose_a=s.transpose_a,
                transpose_b=s.transpose_b,
                span=s.span,
            )
        )
        return tuple(out)

    def _sizes(self, region: Region, transposed: bool) -> tuple[Expr, Expr]:
        """What is there of an operand along (outer, inner) logical axes."""
        rows, cols = (r.extent for r in region.ranges[-2:])
        rows, cols = self.valid.get(region.buffer, (rows, cols))
        return (cols, rows) if transposed else (rows, cols)

    def _ready(self, operand: Operand, out: list[Stmt], s: Gemm) -> Region:
        """The region that the kernel reads: the operand's own, or of a packed copy made now."""
        name = operand.buffer.name
        if name in self.direct:
            return operand.region
        if operand.readable_as_is():
            return operand.region
        copy = self.left.get(name)
        source = operand.region if copy is None else copy.src
        if operand.buffer.dtype.storage_bits < 8 and not operand.is_plain:
            source = self._copied(
                operand.bytes_buffer(self.names.fresh(f"{name}_bytes")), source, out, s
            )
        packed = operand.packed_buffer(self.names.fresh(f"{name}_packed"))
        target = self._copied(packed, source, out, s)
        if copy is not None:
            *_, rows, cols = copy.dst.ranges
            out[-1] = replace(copy, dst=_part(target, rows.extent, cols.extent))
        return target

    def _copied(self, to: Buffer, source: Region, out: list[Stmt], s: Gemm) -> Region:
        """A new buffer with the contents of a region."""
        self.buffers[to.name] = to
        target = b.whole(to)
        out += [Alloc(buffer=to, span=s.span), Copy(src=source, dst=target, span=s.span)]
        return target

    def _clear_rest(self, s: Gemm, m: Expr, n: Expr) -> Body:
        """Zeros where an overwriting product has nothing to add: below and beside the part that
        exists.
        """
        rows, cols = (r.extent for r in s.c.ranges[-2:])
        init = s.init
        if init is None or (m is rows and n is cols):
            return ()
        zero = b.const(0, self.buffers[s.c.buffer].dtype)
        out: list[Stmt] = []
        if m is not rows:
            below = _slab(s.c, Range(m, b.sub(rows, m)), Range(ZERO, cols))
            out.append(Fill(dst=below, value=zero, span=s.span))
        if n is not cols:
            beside = _slab(s.c, Range(ZERO, m), Range(n, b.sub(cols, n)))
            out.append(Fill(dst=beside, value=zero, span=s.span))
        if isinstance(init, Const):
            return tuple(out) if init.value else ()
        return (If(cond=init, then=tuple(out), span=s.span),)


def _least(k: Expr, k_of_b: Expr) -> Expr:
    """How far both operands go along the axis that is summed over; a constant is the whole tile."""
    if isinstance(k, Const) or k == k_of_b:
        return k_of_b
    return k if isinstance(k_of_b, Const) else b.minimum(k, k_of_b)


def _follow(body: Body, first: Stmt, others: Sequence[Stmt], buffers: Mapping[str, Buffer]) -> bool:
    """Whether the body that has a statement has all the others behind it, and writes nothing to
    memory before the last of them."""
    for at, s in enumerate(body):
        if s is first:
            places = {id(x): n for n, x in enumerate(body[at:])}
            if any(id(x) not in places for x in others):
                return False
            last = max(places[id(x)] for x in others)
            return not any(
                e.access & (Access.WRITE | Access.UPDATE) and buffers[e.buffer].scope == "global"
                for e in all_effects(body[at : at + last])
            )
    return any(_follow(inner, first, others, buffers) for s in body for inner in bodies(s))


def _allocates(s: Stmt, names: set[str]) -> bool:
    return isinstance(s, Alloc) and s.buffer.name in names


def _shrunk(region: Region, axes: tuple[int, ...], extents: list[Expr]) -> Region:
    sizes = dict(zip(axes, extents, strict=True))
    ranges = tuple(Range(r.start, sizes.get(i, r.extent)) for i, r in enumerate(region.ranges))
    return Region(region.buffer, ranges, region.slot)


def _part(region: Region, rows: Expr, cols: Expr) -> Region:
    *lead, r, c = region.ranges
    return Region(region.buffer, (*lead, Range(r.start, rows), Range(c.start, cols)), region.slot)


def _slab(region: Region, rows: Range, cols: Range) -> Region:
    *lead, r, c = region.ranges
    box = (
        Range(b.add(r.start, rows.start), rows.extent),
        Range(b.add(c.start, cols.start), cols.extent),
    )
    return Region(region.buffer, (*lead, *box), region.slot)


def _atoms(kernel: Kernel, spec: TargetSpec, plan: Plan) -> dict[Gemm, MatrixAtom]:
    found: dict[Gemm, MatrixAtom] = {}
    for stem, gemm in gemm_keys(kernel):
        name = plan.value(f"{stem}.atom", LOOPS)
        if name != LOOPS:
            found[gemm] = spec.matrix[str(name)]
    return found


def lower_mma(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Apply `KERNEL.gemm:C.atom` of the Plan to every product."""
    buffers = declared(fn)
    names = Names.of(fn)
    walker = FactWalk.of(fn)
    work: dict[str, _Mma] = {}
    for kernel in walk(fn.body):
        if isinstance(kernel, Kernel):
            atoms = _atoms(kernel, cx.target, plan)
            mma = _Mma(cx.target, buffers, names, atoms, uses_of(kernel.body), kernel.body)
            mma.choose()
            work[kernel.name] = mma
    current: list[_Mma] = []

    def visit(s: Stmt, facts: Facts) -> Stmt | Body | None:
        if isinstance(s, Kernel):
            current[:] = [work[s.name]]
            return None
        return current[0].visit(s, facts) if current else None

    body = walker.rewrite(fn.body, Facts.of_dims(fn.dims), visit)
    gone = {name for mma in work.values() for name in mma.gone}
    made = with_body(fn, map_stmts(body, lambda s: () if _allocates(s, gone) else None))
    return made if made is fn else dataclasses.replace(made, stage=Stage.SCHEDULED)


PASS = Pass(name="lower-mma", phase="expand", rewrite=lower_mma, doc=__doc__)
