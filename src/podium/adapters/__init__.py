"""The world behind the ports: one file per thing."""
