"""A step that is a run of its own in another repository."""
