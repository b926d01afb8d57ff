"""Expression text to core nodes, and static types."""
