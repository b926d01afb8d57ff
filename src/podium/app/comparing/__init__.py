"""Experiments of `podium compare`: cases, arms and trials, and what can be claimed from their results."""
