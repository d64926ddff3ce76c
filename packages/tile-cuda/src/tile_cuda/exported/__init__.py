"""Kernels of this target in libraries of their own: see `exporter`."""
