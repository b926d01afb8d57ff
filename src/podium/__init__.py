"""Podium runs teams of AI coding agents from one YAML file and verifies what they did."""

__version__ = "0.1.0"
