"""Figures over many runs, as people look at them: in a terminal, as data, and on a page with charts."""
