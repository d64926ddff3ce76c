"""Hand-written C that emitted kernels paste: the runtime's contract, vectors, mathematics,
packing."""
