"""What `podium test` does."""
