"""Export, verify, delete."""
