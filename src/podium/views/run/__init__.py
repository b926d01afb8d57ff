"""The view of one run and of parts of it."""
