"""Conversations of a role: told anew to services, resumed by commands, and never by those who change files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.testing.models.server import ModelServer, Rule
from tests.e2e.kit import closing, new_project

STEPS = """
  one: {role: thinker, prompt: first question}
  two: {role: thinker, prompt: second question}
  three: {role: thinker, prompt: third question}
  four: {role: thinker, prompt: fourth question}
"""


@pytest.mark.req("R069", "R070", "C5")
@pytest.mark.parametrize(("kind", "where"), [("ollama", ""), ("api", "/v1")])
def test_a_service_is_told_the_last_turns_anew_and_its_system_text_always(
    kind: str, where: str, tmp_path: Path
) -> None:
    rules = [
        Rule(match=f"{word} question", text=f"answer {word}")
        for word in ("first", "second", "third", "fourth")
    ]
    with ModelServer(*rules) as server:
        flow = (
            f"podium: 1\nname: talk\nlimits: {{unknown_cost: count_tokens}}\nagents: {{it: {{type: {kind}, model: m, base_url: '{server.url}{where}'}}}}\n"
            "roles: {thinker: {agent: it, touches: [], system: You think., continuity: {turns: 2}}}\n"
            f"steps:{STEPS}"
        )
        with closing(new_project(tmp_path / "p", {"w.yaml": flow})) as project:
            done = project.podium("run", "w.yaml")
    assert done.code == 0, done.err

    told = [
        [(message["role"], _word(message)) for message in one.body["messages"]]
        for one in server.requests_to()
    ]
    assert told[3] == [
        ("system", "You think."),
        ("user", "second question"),
        ("assistant", "answer second"),
        ("user", "third question"),
        ("assistant", "answer third"),
        ("user", "fourth question"),
    ]
    assert [len(one) for one in told] == [2, 4, 6, 6]


def _word(message: dict[str, Any]) -> str:
    return str(message["content"]).splitlines()[0]


COMMAND = r"""
import json, pathlib, sys
prompt, notes = sys.stdin.read().splitlines()[0], pathlib.Path(sys.argv[1])
words = [*sys.argv[2:], prompt]
notes.write_text((notes.read_text() if notes.exists() else "") + json.dumps(words) + "\n")
print(json.dumps({"podium": 1, "text": "said", "session": f"s-{len(words)}"}))
"""


@pytest.mark.req("R061", "R068", "R070", "C5")
def test_a_command_goes_on_with_the_session_that_it_named_until_its_turns_are_over(tmp_path: Path) -> None:
    """Across a park, as a session outlives the process that carried the run."""
    program, notes = tmp_path / "agent.py", tmp_path / "notes"
    program.write_text(COMMAND, "utf-8")
    argv = [sys.executable, "-I", str(program), str(notes)]
    flow = (
        f"podium: 1\nname: talk\nlimits: {{unknown_cost: count_tokens}}\nagents: {{it: {{type: command, command: {json.dumps(argv)}, "
        f"resume: {json.dumps([*argv, 'again', '{session}'])}}}}}\n"
        "roles: {thinker: {agent: it, touches: [], continuity: {turns: 3}}}\n"
        f"steps:{STEPS.replace('  two:', '  ask: {human: Go on}' + chr(10) + '  two:')}"
        "  last: {agent: it, prompt: fifth question, touches: []}\n"
    )
    with closing(new_project(tmp_path / "p", {"w.yaml": flow})) as project:
        assert project.podium("run", "w.yaml", "--sandbox", "limits").code == 6
        done = project.podium("approve")
    assert done.code == 0, done.err

    assert [json.loads(line) for line in notes.read_text().splitlines()] == [
        ["first question"],
        ["again", "s-1", "second question"],
        ["again", "s-3", "third question"],
        ["fourth question"],
        ["fifth question"],
    ]


@pytest.mark.req("R070")
def test_a_role_that_only_the_run_names_and_that_changes_files_begins_anew(tmp_path: Path) -> None:
    program, notes = tmp_path / "agent.py", tmp_path / "notes"
    program.write_text(COMMAND, "utf-8")
    argv = [sys.executable, "-I", str(program), str(notes)]
    flow = (
        f"podium: 1\nname: talk\nlimits: {{unknown_cost: count_tokens}}\ninputs: {{who: {{type: string, default: coder}}}}\nagents: {{it: {{type: command, "
        f"command: {json.dumps(argv)}, resume: {json.dumps([*argv, 'again'])}}}}}\n"
        "roles: {coder: {agent: it, touches: ['**'], system: You write.}}\nsteps:\n"
        '  one: {role: "${{ inputs.who }}", prompt: first question, no_change: pass, continuity: {turns: 3}}\n'
        '  two: {role: "${{ inputs.who }}", prompt: second question, no_change: pass, continuity: {turns: 3}}\n'
    )
    with closing(new_project(tmp_path / "p", {"w.yaml": flow})) as project:
        done = project.podium("run", "w.yaml", "--sandbox", "limits")
    assert done.code == 0, done.err

    assert "again" not in notes.read_text()
