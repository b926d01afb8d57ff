"""Contract suites for authors of adapters."""
