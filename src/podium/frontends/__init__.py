"""Ways to talk to Podium: each parses, calls `app`, and prints."""
