"""The rules of a run: pure functions over frozen values; no clock, ids, I/O or third-party imports."""
