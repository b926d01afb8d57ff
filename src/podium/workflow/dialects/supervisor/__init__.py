"""The supervisor format."""
