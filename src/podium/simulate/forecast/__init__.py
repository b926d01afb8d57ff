"""Worst and best case without running."""
