"""Executing a rewritten kernel function under a builder: values, buffers, scopes, names."""
