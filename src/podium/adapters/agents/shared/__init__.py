"""Helpers for agents: HTTP, JSON lines, settings, login files, broker."""
