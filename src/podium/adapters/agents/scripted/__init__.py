"""Answers from a cast."""
