"""Which commands run tests, which files are tests, and which files decide what such a command proves."""
