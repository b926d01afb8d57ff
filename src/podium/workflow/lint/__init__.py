"""All semantic checks of a file; `check` runs every rule."""
