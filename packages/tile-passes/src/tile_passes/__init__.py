"""Target-neutral passes of the tile compiler: planner, expansion, lowering, C-family emitter."""
