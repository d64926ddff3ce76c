"""From a tile program to one thread's program, for targets whose blocks are many threads."""
