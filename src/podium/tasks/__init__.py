"""Tasks: everything that is needed to perform one effect, as values that can be sent as JSON."""
