"""The states format."""
