"""The tile language: tracing, jit, cache, profiler and the command line."""
