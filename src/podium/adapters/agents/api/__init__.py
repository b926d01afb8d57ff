"""OpenAI-compatible HTTP services."""
