"""A link in the place of a mailbox in the project, which a step there may have made, leads Podium nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.kit import closing, new_project
from tests.e2e.test_teams import CAST, FLOW

NAMES: Final = ("qa", "owner", "engineer")


@pytest.mark.security
@pytest.mark.parametrize("linked", ["mailbox", "inbox", "outbox"])
def test_a_link_in_the_place_of_a_mailbox_is_neither_read_nor_written(tmp_path: Path, linked: str) -> None:
    """A note in an inbox counts as one of the user's, so a private text there would be told to an agent."""
    private = tmp_path / "private"
    files = {
        "flow.yaml": FLOW,
        "cast.yaml": CAST,
        ".gitignore": ".podium/\nagents/\n",
        "code.txt": "",
        "test.txt": "",
    }
    with closing(new_project(tmp_path / "place", files)) as project:
        for name in NAMES:
            target = private / name if linked == "mailbox" else private / name / linked
            target.mkdir(parents=True)
            inbox = private / name / "inbox"
            inbox.mkdir(exist_ok=True)
            (inbox / "note.md").write_text("SECRET\n")
            place = (
                project.root / "agents" / name
                if linked == "mailbox"
                else project.root / "agents" / name / linked
            )
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        before = _files(private)

        project.podium("run", "flow.yaml", "--json")

        assert _files(private) == before
        assert "SECRET" not in json.dumps(project.events(project.run_id()))


def _files(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}
