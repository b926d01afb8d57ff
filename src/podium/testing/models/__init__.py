"""A loopback model server."""
