"""Files that script a run: casts and `*.test.yaml`."""
