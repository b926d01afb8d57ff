"""The text an agent gets: own prompt, feedback, review material, packed files."""
