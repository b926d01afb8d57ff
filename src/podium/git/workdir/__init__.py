"""A tree on disk: checkout, clone, walk, capture."""
