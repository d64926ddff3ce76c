"""Statements that name a thread, made into iterations over the threads of the block."""

from tile_frontend.trace.per_thread.rewrite import per_thread, without_warp_syncs

__all__ = ["per_thread", "without_warp_syncs"]
