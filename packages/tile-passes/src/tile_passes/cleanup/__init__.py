"""Removing what no result depends on."""
