"""Questions to the history: how well agents and roles work, what they cost, and whether they get better."""
