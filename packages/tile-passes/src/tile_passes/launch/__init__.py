"""The host's side of compiled kernels, as far as targets with thread blocks share it: the
text that launches them, the archive that holds both, what a compiler said."""
