"""The sandboxes: none, limits, bubblewrap, container."""
