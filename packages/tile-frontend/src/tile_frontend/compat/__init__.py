"""Programs that were written for another compiler of this language, run unchanged.

`import tile_frontend.compat.tilelang` at the head of a program, or `python -m
tile_frontend.compat.tilelang program.py`, makes its `import tilelang` find ours.
"""
