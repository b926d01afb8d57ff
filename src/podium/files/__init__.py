"""Paths that stay inside a folder; whole-file writes."""
