"""Look at runs, agents and the machine."""
