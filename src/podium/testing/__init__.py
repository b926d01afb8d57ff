"""Contract suites for adapter authors."""
