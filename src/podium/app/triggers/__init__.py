"""Starts runs for what happens outside: times, files, refs, webhooks, and lines that commands print."""
