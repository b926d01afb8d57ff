"""Git objects as values: listings, diffs, merges, ignore rules, snapshots."""
