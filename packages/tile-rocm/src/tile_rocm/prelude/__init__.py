"""Hand-written HIP C++: small inlined functions that kernels call, printed only when used."""
