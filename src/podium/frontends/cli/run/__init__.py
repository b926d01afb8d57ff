"""Start and drive runs."""
