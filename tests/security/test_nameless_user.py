"""A user whose number has no name, as in many containers, can start a run and answer it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project
from tests.security.kit import as_ordinary_user, podium_as

pytestmark = pytest.mark.security

FLOW = "podium: 1\nname: ask\nsteps:\n  ok: {human: 'Is it done?'}\n"


def test_a_user_without_a_name_answers() -> None:
    with tempfile.TemporaryDirectory(prefix="podium-nameless-") as name:
        Path(name).chmod(0o755)
        with closing(new_project(Path(name) / "place", {"flow.yaml": FLOW}, git=False)) as project:
            # Tests and machines may name a user; here nothing does.
            plain = (
                "env",
                *(f"--unset={each}" for each in ("PODIUM_USER", "USER", "LOGNAME", "LNAME", "USERNAME")),
            )

            def around(*argv: str) -> tuple[str, ...]:
                return as_ordinary_user(*plain, *argv)

            started = podium_as(project, around, "run", "flow.yaml", "--json")
            answered = podium_as(project, around, "approve", "--json")

            assert (started.code, answered.code) == (6, 0), answered.err
            given = [each for each in project.events(project.run_id()) if each["type"] == "ApprovalGiven"]
            assert [each["by"].startswith("uid-") for each in given] == [True]
