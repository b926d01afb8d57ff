"""What an agent says cannot stop a run either: an answer that no file can hold is a malformed one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from podium.core.codec import decode
from podium.core.events import AttemptQueued
from podium.core.types import Address, Millis
from podium.engine.log import to_text
from tests.engine.kit import HEAD, Project

pytestmark = pytest.mark.security

ANSWER = '{"half": "\\ud800", "name": "\\udcff\\n\\u0000"}'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Project(tmp_path / "project")


def test_half_a_surrogate_pair_in_an_answer_does_not_break_the_log(project: Project) -> None:
    command = [sys.executable, "-c", f"print({ANSWER!r})"]
    head = HEAD + f"agents:\n  a: {{type: command, command: {json.dumps(command)}}}\n"
    steps = (
        "  it: {agent: a, prompt: x, output: json, no_change: pass, retry: {repair: 1, on_exhausted: fail}}\n"
    )

    run, state = project.run(project.flow(steps, head=head), accepts=("*",))

    ending = state.instances[Address("it")].ending
    assert ending is not None
    assert (ending.outcome, ending.reason) == ("failed", "contract")
    assert project.view(run).status == "failed"
    project.facade.close()


def test_the_log_holds_what_no_file_can() -> None:
    event = AttemptQueued(Millis(0), Address("half \ud800"), "ready")

    text = to_text(event)

    assert text.encode().decode() == text
    assert decode(json.loads(text)) == event
