"""What one event changes in the state, with the lifecycle table."""
