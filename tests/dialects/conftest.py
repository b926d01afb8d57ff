"""A project per test, with its caches in the test's own folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dialects.kit import Stage
from tests.engine import conftest

apart = conftest.apart


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path / "project")
    yield made
    made.facade.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Stage]:
    """A project without a repository."""
    made = Stage(tmp_path / "folder", repository=False)
    yield made
    made.facade.close()
