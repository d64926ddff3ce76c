"""This target's lowering passes: matrix kernels and packing, vectors, scratch memory."""
