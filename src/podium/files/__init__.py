"""Paths that stay inside a folder."""
