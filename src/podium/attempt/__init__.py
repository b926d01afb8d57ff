"""One attempt from workspace to verdict: what a leaf of a run does in the world, for every engine alike."""
