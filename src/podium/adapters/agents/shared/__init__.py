"""Helpers for agents: HTTP, JSON lines, settings, broker."""
