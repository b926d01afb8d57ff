"""`podium top`: all runs in the terminal, those that wait for a person first, and answers to their questions."""
