"""A project in which commands are typed, with its caches in the test's own folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.kit import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    for name in ("cache", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PODIUM_USER", "ann")
    made = Project(tmp_path / "project")
    monkeypatch.chdir(made.root)
    yield made
    made.facade.close()
