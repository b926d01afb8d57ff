"""The embedded shell: one process owns a run, keeps its log, and performs what the core asks for."""
