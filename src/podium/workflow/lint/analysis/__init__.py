"""Facts computed once per file: survey, control flow, names, types, visible steps."""
