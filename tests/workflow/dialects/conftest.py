"""A project per test, with its caches in the test's own folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine import conftest
from tests.workflow.dialects.kit import ScriptedProject

apart = conftest.apart


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ScriptedProject]:
    project = ScriptedProject(tmp_path / "project")
    yield project
    project.facade.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[ScriptedProject]:
    """A project without a repository."""
    project = ScriptedProject(tmp_path / "folder", repository=False)
    yield project
    project.facade.close()
