"""Somebody else's compiler. It reads and writes the text of tile programs by the grammar document,
borrows passes through the command `tile-opt`, and imports no package of the tile compiler."""
