"""Output contracts: JSON Schema checks, built-in schemas, parsing an answer, example values."""
