"""CPU target of the tile compiler: readable C, packed matrix kernels, a thread pool."""
