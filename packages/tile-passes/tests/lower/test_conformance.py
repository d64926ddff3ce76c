"""Every lowering pass keeps programs valid and keeps their meaning.

Samples with a product are left out: as element loops they take the oracle minutes. Products have
small tests of their own, and the random programs hold many.
"""

from tile_ir.ops import Gemm
from tile_ir.rewrite import walk
from tile_ir.testing.conformance import PassConformance
from tile_ir.testing.corpus import corpus
from tile_passes.lower.contract_rows import contract_rows
from tile_passes.lower.fuse_loops import fuse_loops
from tile_passes.lower.lower_tiles import lower_tiles
from tile_passes.lower.split_guards import split_guards
from tile_passes.lower.vector_body import Capabilities
from tile_passes.lower.vectorize import vectorize
from tile_passes.lower.version_tiles import version_tiles

VECTORS = Capabilities(
    bytes=32,
    carrier_bits=lambda dtype: max(32, dtype.bits),
    call=lambda fn, dtype: fn not in ("popcount", "clz"),
    packed=lambda dtype: dtype.storage_bits // dtype.lanes < 8,
)
LIGHT = tuple(
    name
    for name, sample in corpus().items()
    if not any(isinstance(s, Gemm) for s in walk(sample.function.body))
)


class TestLowerTiles(PassConformance):
    samples = LIGHT

    def apply(self, function):
        return lower_tiles(function)


class TestSplitGuards(PassConformance):
    samples = LIGHT

    def apply(self, function):
        return split_guards(lower_tiles(function))


class TestVersionTiles(PassConformance):
    samples = LIGHT
    idempotent = False  # what is whole by its condition may be split once more at another bound

    def apply(self, function):
        return version_tiles(function)


class TestFuseLoops(PassConformance):
    samples = LIGHT
    seeds = 60
    idempotent = False  # fused loops are lowered and fused anew

    def apply(self, function):
        return fuse_loops(split_guards(lower_tiles(version_tiles(function))))


class TestContractRows(PassConformance):
    samples = LIGHT
    seeds = 60
    idempotent = False

    def apply(self, function):
        fused = fuse_loops(split_guards(lower_tiles(version_tiles(function))))
        return contract_rows(fused)


class TestVectorize(PassConformance):
    samples = LIGHT
    seeds = 25

    def apply(self, function):
        return vectorize(split_guards(lower_tiles(function)), VECTORS)


class TestVectorizeFused(PassConformance):
    samples = LIGHT
    seeds = 25
    idempotent = False  # tiles are split anew

    def apply(self, function):
        fused = fuse_loops(split_guards(lower_tiles(version_tiles(function))))
        return vectorize(contract_rows(fused), VECTORS)
