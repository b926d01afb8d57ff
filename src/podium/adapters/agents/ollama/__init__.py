"""Local models, GPU detection, model tiers."""
