"""Draws workflows and runs: a layout in cells, painted as SVG or in box characters. Pure."""
