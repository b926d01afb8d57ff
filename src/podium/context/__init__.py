"""Chooses the parts of a project that a prompt shows: pure functions of files, facts about code, history and a budget."""
