"""Rules about what other runs a workflow starts: the next run of a series, and runs in other repositories."""
