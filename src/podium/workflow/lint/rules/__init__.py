"""One module per family of rules."""
