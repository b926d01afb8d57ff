"""Finds the files that imports mean, by the rules of each language."""
