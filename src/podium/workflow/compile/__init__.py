"""Typed records to `Workflow`."""
