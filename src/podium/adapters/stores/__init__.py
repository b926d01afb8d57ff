"""The stores of runs: memory, SQLite."""
