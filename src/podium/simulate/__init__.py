"""The in-memory runtime: runs the core in simulated time in a random or scripted world."""
