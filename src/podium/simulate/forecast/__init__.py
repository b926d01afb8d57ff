"""Worst and best case of a workflow, computed without running it."""
