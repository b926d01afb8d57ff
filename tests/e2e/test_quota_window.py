"""A limit on the share of a quota window: measured where an agent reports it, said to be unknown elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.e2e.kit import closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: ask
agents: {{claude: {{command: {program}}}}}
limits: {{window: 80%}}
steps:
  one: {{agent: claude, prompt: One, touches: []}}
  two: {{agent: claude, prompt: Two, touches: []}}
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not below /dev, where temporary files of tests may be: a sandbox has its own."""
    with TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def install(folder: Path, share: float | None) -> Path:
    info = {"status": "allowed", "resetsAt": 1794796318, **({} if share is None else {"utilization": share})}
    success = {"type": "result", "subtype": "success", "is_error": False, "result": "done"}
    records = [
        {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-sonnet-5"},
        {"type": "rate_limit_event", "rate_limit_info": info},
        {**success, "total_cost_usd": 0.01, "modelUsage": {}},
    ]
    path = folder / "claude"
    lines = "".join(f"print({json.dumps(json.dumps(record))})\n" for record in records)
    path.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.readline()\n{lines}", "utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.req("X3", "C18")
@pytest.mark.parametrize(("share", "code"), [(0.85, 5), (0.5, 0), (None, 0)])
def test_a_run_stops_when_the_reported_share_of_the_window_is_used(
    tmp_path: Path, folder: Path, share: float | None, code: int
) -> None:
    program = install(folder, share)
    with closing(new_project(tmp_path / "place", {"flow.yaml": FLOW.format(program=program)})) as project:
        project.env["ANTHROPIC_API_KEY"] = "dummy-key-4711-of-nobody"
        done = project.podium("run", "flow.yaml", "--json")
        assert done.code == code, done.out + done.err
        ended = [step["path"] for step in done.data()["steps"] if step["outcome"] == "passed"]
        assert ended == (["one"] if code else ["one", "two"])


@pytest.mark.req("X3", "C18")
def test_validate_says_for_which_agents_the_window_is_unknown(tmp_path: Path) -> None:
    flow = "podium: 1\nname: ask\nlimits: {window: 80%}\nsteps: {one: {agent: codex, prompt: One, touches: []}}\n"
    with closing(new_project(tmp_path / "place", {"flow.yaml": flow})) as project:
        done = project.podium("validate", "flow.yaml")
        assert "flow.yaml:3:10: warning: window cannot be enforced for codex" in done.out
