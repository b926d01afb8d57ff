"""The gates format."""
