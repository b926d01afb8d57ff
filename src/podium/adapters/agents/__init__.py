"""One folder per agent."""
