"""The in-memory runtime: simulated time, random or scripted world."""
