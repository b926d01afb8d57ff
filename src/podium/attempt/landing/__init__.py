"""Landing on a branch and joining parallel work."""
