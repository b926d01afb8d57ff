"""Paths that stay inside a folder; atomic writes of whole files."""
