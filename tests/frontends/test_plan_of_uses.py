"""What a workflow reads besides its files, in `podium plan` and `podium graph`: memories, polled commands, triggers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from podium.frontends.cli.main import podium

FLOW = """\
podium: 1
name: flow
limits: {usd: 2}
agents: {w: {type: scripted}}
triggers:
  mails: {command: {run: [fetch-mails]}, every: 10m, per_day: {runs: 4, usd: 2.5}}
steps:
  a: {agent: w, prompt: x, memory: lessons, touches: [], base: v1.0}
  b: {wait: {poll: [gh, pr, checks], every: 30s}, timeout: 1h}
  c: {agent: w, prompt: y, memory: lessons, touches: []}
"""


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "flow.yaml"
    path.write_text(FLOW)
    return path


def printed(*args: str) -> str:
    result = CliRunner().invoke(podium, args)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_forecast_names_memories_and_how_often_commands_are_called() -> None:
    text = printed("plan", "flow.yaml")

    assert "memory lessons: used by a, c, stored when a run passes" in text
    assert "b calls gh pr checks every 30s, at most 121 times" in text
    assert (
        "trigger mails (command), calls its command 144 times a day: at most $2.50 and 4 runs a day" in text
    )
    data = json.loads(printed("plan", "flow.yaml", "--json"))
    assert data["memories"] == {"lessons": ["a", "c"]}
    assert data["polls"][0]["most"] == 121


@pytest.mark.parametrize("form", ["text", "mermaid", "dot", "boxes", "svg"])
def test_every_picture_names_them(form: str) -> None:
    text = printed("graph", "flow.yaml", "--format", form)

    for words in ("memory lessons", "at v1.0", "poll gh pr checks"):
        assert words in text
