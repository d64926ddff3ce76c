"""Planning: passes that read a tile program and write only decisions."""
