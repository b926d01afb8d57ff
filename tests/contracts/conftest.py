"""The Temporal server for the contract of runtimes."""

from __future__ import annotations

from tests.temporal.conftest import server

__all__ = ["server"]
