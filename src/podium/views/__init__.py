"""Turns events into what people read: views of a run, lines of text, files; pure."""
