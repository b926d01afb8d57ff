"""Answers from recordings."""
