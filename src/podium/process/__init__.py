"""Starts processes, reads their output, limits them, and ends everything they started."""
