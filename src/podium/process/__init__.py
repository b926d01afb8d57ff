"""Start processes, read their output, bound them, end everything they started."""
