"""The steps format."""
