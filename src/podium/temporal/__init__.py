"""The runtime of several machines: a run is a Temporal workflow, and workers perform its attempts."""
