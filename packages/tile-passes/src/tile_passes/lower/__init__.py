"""Target-neutral lowering: tile operations become element loops, loops become vector loops."""
