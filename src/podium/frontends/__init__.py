"""Frontends: parse, call `app`, print."""
