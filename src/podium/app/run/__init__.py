"""Start, drive, answer, rerun, land."""
