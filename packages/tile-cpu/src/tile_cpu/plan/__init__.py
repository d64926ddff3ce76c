"""This target's planning passes: strips of tiles, resident panels, operand layouts."""
