"""Search strategies, found through the entry points of the group `tile.tuners`.

A strategy is asked for a round of candidates and told what became of them; it sees a space and
trials, never a kernel, a process or a clock.
"""
