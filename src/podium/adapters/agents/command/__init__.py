"""Any program."""
