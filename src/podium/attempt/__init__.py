"""Carry out one task: workspace, prompt, launch, capture, contract; one verb per module or folder."""
