"""Runs as OpenTelemetry spans and metrics, and as Prometheus text, made from their events."""
