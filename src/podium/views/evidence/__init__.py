"""What a question is decided by: proof about its tree, earlier decisions, and where each answer leads."""
