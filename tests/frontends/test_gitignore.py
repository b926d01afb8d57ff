"""What the first run in a repository does about `.gitignore`."""

from __future__ import annotations

import pytest

from tests.engine.kit import Project
from tests.frontends.test_running import call


@pytest.mark.req("R188")
def test_the_first_run_offers_the_line_that_keeps_git_from_our_folder(project: Project) -> None:
    (project.root / ".gitignore").unlink()
    project.flow("  a: {run: [echo, x]}\n")

    hinted = call("run", "flow.yaml", "--sandbox", "none")
    quiet = call("run", "flow.yaml", "--sandbox", "none")

    assert "add .podium/* to .gitignore" in hinted.stderr
    assert "add .podium/*" not in quiet.stderr
    assert not (project.root / ".gitignore").exists()


@pytest.mark.req("R188")
def test_yes_writes_that_line(project: Project) -> None:
    (project.root / ".gitignore").unlink()
    project.flow("  a: {run: [echo, x]}\n")

    call("run", "flow.yaml", "--sandbox", "none", "--yes")

    assert (project.root / ".gitignore").read_text().splitlines()[0] == ".podium/*"


def test_lines_and_mode_of_an_ignore_file_stay(project: Project) -> None:
    ignore = project.write(".gitignore", "build/")
    ignore.chmod(0o640)
    project.flow("  a: {run: [echo, x]}\n")

    call("run", "flow.yaml", "--sandbox", "none", "--yes")

    assert ignore.read_text().splitlines()[:2] == ["build/", ".podium/*"]
    assert ignore.stat().st_mode & 0o777 == 0o640
