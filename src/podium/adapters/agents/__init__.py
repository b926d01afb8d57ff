"""Programs that work: each says what to start and understands what comes back."""
