"""Exporters: write a run in the file formats of other tools, one folder per format."""
