"""Where the log of runs is kept."""
