"""Load, convert, init, roles, schemas, demo."""
