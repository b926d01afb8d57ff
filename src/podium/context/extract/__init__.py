"""Reads facts from the content of files, in a child process for what agents wrote."""
