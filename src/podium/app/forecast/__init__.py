"""Plan, simulate, preview a prompt."""
