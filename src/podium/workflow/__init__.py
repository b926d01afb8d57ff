"""YAML text to `core.model.Workflow`, or every problem with its line; `load` is the entry point."""
