"""The host's side of compiled kernels, as far as targets share it: the text that launches them, the
archive that holds both, files that appear whole, what a compiler said."""
