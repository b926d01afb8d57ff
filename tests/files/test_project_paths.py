"""Where the state and the workspaces of a project are."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The place of workspaces beside all projects, of a user who does not exist on this machine."""
    user = random.SystemRandom().randrange(10**8, 10**9)
    place = Path(f"/var/tmp/podium-{user}")  # the place that is tested
    monkeypatch.setattr(os, "getuid", lambda: user)
    yield place
    if place.is_symlink():
        place.unlink()
    elif place.is_dir():
        place.rmdir()


def test_workspaces_are_in_the_cache_unless_that_is_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home/.cache"))

    assert ProjectPaths(tmp_path / "code").work_dir("r").is_relative_to(tmp_path / "home/.cache/podium/work")
    assert ProjectPaths(tmp_path / "home").work_dir("r").is_relative_to(shared / "podium/work")
    ProjectPaths(tmp_path / "code").make_work_root()
    assert not shared.exists()


@pytest.mark.parametrize("plant", ["open folder", "folder of another user", "link"])
def test_a_place_that_another_user_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: Path, plant: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    if plant == "link":
        shared.symlink_to(tmp_path)
    else:
        # It belongs to the user of this test, who is not the one that `shared` pretends to be.
        shared.mkdir(mode=0o755 if plant == "open folder" else 0o700)

    with pytest.raises(ConfigurationError, match="is not a private folder of yours"):
        ProjectPaths(tmp_path).make_work_root()
