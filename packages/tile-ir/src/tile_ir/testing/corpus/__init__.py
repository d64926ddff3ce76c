"""The corpus: tile programs as people write them, each with sizes to run it at and its value by
plain numpy.

`corpus()` gives every sample by name. What the oracle, a pass or a target does with them is a test;
the references are written apart from the oracle, in f64 and in one expression where possible.
"""

from tile_ir.testing.corpus.sample import Sample, corpus

__all__ = ["Sample", "corpus"]
