"""How a decision of a person reaches a run: who speaks, whether it would be followed, and the process that follows it."""
