"""Jinja prompts: parse, check, render in a sandbox; partials; quoting of untrusted text."""
