"""Bringing a tile program into the normal form that planning reads: bounds, types, initialised
products."""
