"""A project per test, with its caches in the test's own folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.kit import Project


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path / "project")
    yield made
    made.facade.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Project]:
    """A project without a repository."""
    made = Project(tmp_path / "folder", repository=False)
    yield made
    made.facade.close()
