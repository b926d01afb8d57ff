"""How often and when a step is tried again, as the log of the run shows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FILE = "w.yaml"
COMMAND = """\
podium: 1
name: backoff
steps:
  flaky: {run: [sh, -c, "exit 1"], retry: {attempts: 3, backoff: 1s}}
"""
AGENTS = """\
agents:
  slow: {type: command, command: [sh, -c, "cat > /dev/null; sleep 60"]}
"""
NATIVE = f"""\
podium: 1
name: once
{AGENTS}
steps:
  ask: {{agent: slow, prompt: Do it., no_change: pass, timeout: 1s, retry: {{attempts: 1}}}}
"""
STATES = """\
states:
  start: {type: initial, next: ask}
  ask: {type: single, agent: slow, prompt: Do it., transitions: {success: complete, failure: halt}}
  complete: {type: terminal}
  halt: {type: terminal, error: true}
settings: {retry_count: 0, timeout_per_agent: 1}
"""


def attempts(project: Project) -> list[tuple[float, float]]:
    """When each attempt of the only run started and ended, in seconds."""
    events = project.events(project.run_id())
    starts = [event["at"] / 1000 for event in events if event["type"] == "AttemptStarted"]
    ends = [event["at"] / 1000 for event in events if event["type"] == "AttemptEnded"]
    return list(zip(starts, ends, strict=True))


@pytest.mark.req("R135", "R136")
def test_a_command_waits_for_its_backoff_before_each_further_attempt(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", {FILE: COMMAND})) as project:
        done = project.podium("run", FILE, "--sandbox", "limits")

        assert done.code == 1, done.err
        times = attempts(project)
        assert len(times) == 3
        pauses = [after[0] - before[1] for before, after in pairwise(times)]
        assert all(pause >= 1 for pause in pauses), pauses


@pytest.mark.req("C42")
@pytest.mark.parametrize("files", [{FILE: NATIVE}, {FILE: STATES, ".podium/config.yaml": AGENTS}])
def test_an_agent_with_one_attempt_is_called_once_when_it_runs_out_of_time(
    tmp_path: Path, files: dict[str, str]
) -> None:
    with closing(new_project(tmp_path / "place", files)) as project:
        done = project.podium("run", FILE, "--sandbox", "limits", "--yes", "--no-human")

        assert done.code != 2, done.err
        assert len(attempts(project)) == 1


@pytest.mark.req("R135", "R136")
def test_a_block_waits_for_its_backoff_before_each_further_attempt(tmp_path: Path) -> None:
    text = (
        "podium: 1\nname: backoff\nsteps:\n  all:\n    retry: {attempts: 3, backoff: 1s}\n"
        '    steps:\n      flaky: {run: [sh, -c, "exit 1"]}\n'
    )
    with closing(new_project(tmp_path / "place", {FILE: text})) as project:
        done = project.podium("run", FILE, "--sandbox", "limits")

        assert done.code == 1, done.err
        times = attempts(project)
        assert len(times) == 3
        pauses = [after[0] - before[1] for before, after in pairwise(times)]
        assert all(pause >= 1 for pause in pauses), pauses


CLIMB = """\
podium: 1
name: climb
agents:
  small: {type: scripted, script: small.yaml, estimate: {usd: 0.1}}
  large: {type: scripted, script: large.yaml, estimate: {usd: 2}}
steps:
  fix:
    agent: small
    prompt: "Try {{ attempt }}: fix it. {{ feedback }}"
    touches: [a.txt, b.txt]
    retry: {attempts: 4, upgrade: [{after: 2, agent: large}]}
    gates: [{name: check, run: [grep, -q, good, a.txt]}]
    on: {failed: {fail: "too hard"}}
  read: {run: [cat, b.txt]}
outputs: {kept: "${{ steps.read.text }}"}
"""


def test_a_stronger_agent_takes_over_with_the_work_and_the_feedback(tmp_path: Path) -> None:
    files = {
        "climb.yaml": CLIMB,
        "a.txt": "start\n",
        "small.yaml": "- {match: {attempt: 1}, write: {a.txt: bad, b.txt: kept}}\n- {match: {}, write: {a.txt: worse}}\n",
        "large.yaml": "- {match: {}, write: {a.txt: good}}\n",
    }
    with closing(new_project(tmp_path / "p", files)) as project:
        done = project.podium("run", "climb.yaml", "--sandbox", "limits", "--json")
        assert done.code == 0, done.err
        run = done.data()["run"]
        [fix] = [step for step in done.data()["steps"] if step["path"] == "fix"]
        shown = project.podium("show", run).out
        prompt = project.podium("prompt", run, "fix").out
        plan = project.podium("plan", "climb.yaml").out

        assert fix["workers"] == [{"attempt": 1, "by": "small"}, {"attempt": 3, "by": "large"}]
        assert "attempt 1 by small, 3 by large" in shown
        assert "Try 3: fix it." in prompt
        assert "exit code 1" in prompt, "the stronger agent knows why the gate failed"
        assert done.data()["outputs"]["kept"].strip() == "kept", (
            "the stronger agent started from the work so far"
        )
        assert "fix after 2" in plan
