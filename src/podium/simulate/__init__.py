"""The in-memory shell: simulated time, a scripted or a random world, the same core."""
