"""Hand-written Metal, pasted in front of the kernels that use it."""
