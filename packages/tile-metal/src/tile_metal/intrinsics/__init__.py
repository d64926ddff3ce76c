"""What the target offers by name: matrix instructions from the description, math functions."""
