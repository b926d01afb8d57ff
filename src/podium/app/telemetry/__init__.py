"""Sends runs to a collector, and tells their numbers to Prometheus."""
