"""Chooses the agent of a step with `agent: auto` when a run starts, by the history of earlier runs."""
