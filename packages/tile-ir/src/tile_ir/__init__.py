"""The tile IR: types, layouts, text format, verifier, diagnostics, plugin contracts, oracle."""
