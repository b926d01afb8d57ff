"""Runs in the files of other tools, one folder per format."""
