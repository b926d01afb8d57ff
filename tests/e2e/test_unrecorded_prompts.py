"""`record: {prompts: false}`: the text that an agent gets is in no file of the run, and conversations still continue."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.testing.models.server import ModelServer, Rule
from tests.e2e.kit import Project, closing, new_project

MARK = "RENDERED-PROMPT"
"""Only in rendered texts: the workflow itself, which is kept with the run, has it in two parts."""
WORDS = "RENDERED{{ '-' }}PROMPT"

FLOW = f"""
podium: 1
name: talk
limits: {{unknown_cost: count_tokens}}
record: {{prompts: false}}
agents:
  it: {{type: api, model: m, base_url: 'URL/v1'}}
  loud: {{type: command, command: [sh, -c, 'cat >&2; echo fine; exit $(test -e flag; echo $?)'], price: {{input: 0, output: 0}}}}
roles:
  thinker: {{agent: it, touches: [], system: "You think. {WORDS}", continuity: {{turns: 5}}}}
steps:
  one: {{role: thinker, prompt: "first question {WORDS}"}}
  two: {{role: thinker, prompt: "second question {WORDS}"}}
  echo: {{agent: loud, prompt: "Repeat it: {WORDS}", touches: [], retry: {{attempts: 2, on_exhausted: fail}}, on: {{else: next}}}}
  check: {{review: [it], of: two, prompt: "third question {WORDS}", on: {{else: next}}}}
  last: {{run: [echo, end]}}
"""


def files_with(project: Project, text: str) -> list[str]:
    """Every file that Podium has written, the database and an export included."""
    places = (project.root, project.home)
    files = (
        path for place in places for path in place.rglob("*") if path.is_file() and not path.is_symlink()
    )
    return [str(path) for path in files if text.encode() in path.read_bytes()]


@pytest.mark.req("R214")
def test_no_file_of_a_run_has_a_prompt_that_may_not_be_recorded(tmp_path: Path) -> None:
    rules = [Rule(match=f"{word} question", text=f"answer {word}") for word in ("first", "second", "third")]
    with ModelServer(*rules) as server:
        files = {"w.yaml": FLOW.replace("URL", server.url)}
        with closing(new_project(tmp_path / "p", files)) as project:
            done = project.podium("run", "w.yaml", "--sandbox", "limits", "--yes")
            assert done.code == 0, done.err
            assert project.podium("export", project.run_id()).code == 0

            assert files_with(project, MARK) == []
            logs = (project.root / ".podium/runs" / project.run_id() / "agent_logs/echo").rglob("stderr.log")
            assert all("a line that repeats the prompt" in log.read_text() for log in logs)
    turns = [[message["role"] for message in request.body["messages"]] for request in server.requests_to()]
    assert turns[:2] == [["system", "user"], ["system", "user", "assistant", "user"]]
