"""What cannot be carried out yet is said by name before a run exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.adapters.agents.claude.agent import Claude
from podium.adapters.agents.registry import agent_types
from podium.app.author.load import open_workflow
from podium.app.run.preflight import HostCapabilities, agents_not_ready, agents_without_price, unsupported
from podium.attempt.programs import default_agent
from tests.installed import agent, built_in

HEAD = "podium: 1\nname: flow\nagents:\n  w: {type: scripted, script: cast.yaml}\n"
NO_BUBBLEWRAP = "bubblewrap is not installed; install it: sudo apt-get install bubblewrap"
THERE = built_in("scripted", "command")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("  a: {run: [echo, x]}\n", None),
        ("  a: {agent: w, prompt: x}\n", None),
        ("  a: {agent: human, prompt: x}\n", None),
        ("  a: {agent: claude, fallback: [w], prompt: x}\n", None),
        ("  a: {agent: claude, prompt: x}\n", 'step "a" (line 6): agent "claude" of type "claude"'),
        ("  a: {role: planner, prompt: x}\n", "no agent is named"),
        ("  a: {for_each: [1, 2], agent: codex, prompt: x}\n", 'agent "codex"'),
        ("  a: {steps: {b: {agent: gemini, prompt: x}}}\n", 'step "b" (line 6)'),
        ("  a: {agent: w, prompt: x, gates: [{review: claude}]}\n", 'agent "claude"'),
        (
            "  a: {run: [echo, x], sandbox: container}\
",
            "sandbox container: no engine",
        ),
    ],
)
def test_each_thing_is_named_with_its_step(tmp_path: Path, steps: str, said: str | None) -> None:
    (tmp_path / "cast.yaml").write_text("[]\n")
    file = tmp_path / "flow.yaml"
    file.write_text(f"{HEAD}steps:\n{steps}")
    workflow = open_workflow(file, project=tmp_path)

    found = unsupported(workflow, HostCapabilities(THERE, container_unavailable="no engine"))

    assert found == () if said is None else said in "\n".join(found)


def test_a_weaker_sandbox_that_the_user_chose_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text("podium: 1\nname: flow\nsteps:\n  a: {run: [echo, x], sandbox: bubblewrap}\n")
    workflow = open_workflow(file, project=tmp_path)

    assert unsupported(workflow, HostCapabilities({}, "limits", NO_BUBBLEWRAP)) == ()
    assert (
        "bubblewrap is not installed" in unsupported(workflow, HostCapabilities({}, None, NO_BUBBLEWRAP))[0]
    )
    assert unsupported(workflow, HostCapabilities({})) == ()


@pytest.mark.req("C16")
@pytest.mark.parametrize(
    "steps",
    [
        "  a: {agent: claude, prompt: x}\n",
        "  a: {role: planner, prompt: x}\n",
        "  a: {agent: w, fallback: [claude], prompt: x}\n",
        "  a: {agent: w, prompt: x, gates: [{review: claude}]}\n",
    ],
)
@pytest.mark.parametrize("sandbox", [None, "auto", "limits", "none"])
def test_an_agent_runs_in_a_weaker_sandbox_than_it_needs_only_if_the_user_chose_that(
    tmp_path: Path, steps: str, sandbox: str | None
) -> None:
    (tmp_path / "cast.yaml").write_text("[]\n")
    file = tmp_path / "flow.yaml"
    file.write_text(f"{HEAD}steps:\n{steps}")
    workflow = open_workflow(file, project=tmp_path)

    agents = built_in("scripted", "command", "claude")
    found = unsupported(workflow, HostCapabilities(agents, sandbox, NO_BUBBLEWRAP))

    said = f"claude needs bubblewrap: {NO_BUBBLEWRAP}; or --sandbox limits runs it in a weaker sandbox, at your risk"
    assert [line.endswith(said) for line in found] == ([True] if sandbox in (None, "auto") else [])
    assert unsupported(workflow, HostCapabilities(agents, sandbox)) == ()


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("  a: {agent: claude, prompt: x}\n", "claude: ANTHROPIC_API_KEY is not set"),
        ("  a: {role: planner, prompt: x}\n", "ANTHROPIC_API_KEY is not set"),
        ("  a: {for_each: [1], agent: claude, prompt: x}\n", "ANTHROPIC_API_KEY is not set"),
        ("  a: {agent: w, prompt: x, gates: [{review: claude}]}\n", "ANTHROPIC_API_KEY is not set"),
        ("  a: {agent: claude, fallback: [w], prompt: x}\n", None),
        ("  a: {agent: w, prompt: x}\n", None),
    ],
)
def test_a_key_that_no_agent_of_a_step_has_is_said_before_anything_starts(
    tmp_path: Path, steps: str, said: str | None
) -> None:
    (tmp_path / "cast.yaml").write_text("[]\n")
    file = tmp_path / "flow.yaml"
    file.write_text(f"{HEAD}steps:\n{steps}")
    workflow = open_workflow(file, project=tmp_path)
    agents = built_in("claude", "scripted")

    program = tmp_path / "claude"
    program.touch(mode=0o755)

    found = agents_not_ready(workflow, agents, {"PATH": str(tmp_path)})

    assert found == () if said is None else said in "\n".join(found)
    keyed = {"PATH": str(tmp_path), "ANTHROPIC_API_KEY": "sk-test-0000"}
    assert agents_not_ready(workflow, agents, keyed) == ()


def test_an_agent_that_is_not_ready_is_named_once_with_the_steps_that_need_it(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    steps = "  a: {agent: claude, prompt: x}\n  b: {agent: claude, prompt: y}\n  c: {review: claude, of: b}\n"
    file.write_text(f"podium: 1\nname: flow\nsteps:\n{steps}")
    workflow = open_workflow(file, project=tmp_path)

    (line,) = agents_not_ready(workflow, built_in("claude"), {"PATH": str(tmp_path)})

    assert line.startswith("claude is not installed")
    assert "install it: npm install -g @anthropic-ai/claude-code" in line
    assert line.endswith('needed by "a" (line 4), "b" (line 5), "c/claude" (line 6)')


def test_a_login_that_is_not_there_is_said_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    head = "podium: 1\nname: flow\nagents: {claude: {auth: login}}\n"
    file.write_text(head + "steps:\n  a: {agent: claude, prompt: x}\n")
    workflow = open_workflow(file, project=tmp_path)

    (tmp_path / "claude").touch(mode=0o755)
    env = {"PATH": str(tmp_path)}

    assert "not logged in" in agents_not_ready(workflow, built_in("claude"), env)[0]
    assert agents_not_ready(workflow, {"claude": agent("claude", Claude(), login=b"{}")}, env) == ()


def test_a_program_that_is_not_installed_is_said_and_a_role_takes_the_one_that_is(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text("podium: 1\nname: flow\nsteps:\n  a: {role: planner, prompt: x}\n")
    workflow = open_workflow(file, project=tmp_path)
    there = built_in("claude", "codex")
    env = {"PATH": str(tmp_path), "OPENAI_API_KEY": "sk-test-0000", "ANTHROPIC_API_KEY": "sk-test-0001"}

    assert "claude is not installed" in agents_not_ready(workflow, there, env)[0]
    (tmp_path / "codex").touch(mode=0o755)
    assert agents_not_ready(workflow, there, env) == ()
    assert default_agent(there, {}, env) == "codex"


@pytest.mark.req("X3", "C18")
def test_agents_whose_calls_nobody_can_price_are_named_once(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(
        "podium: 1\nname: flow\nagents:\n  mine: {type: command, command: [cat]}\n"
        "  known: {type: command, command: [cat], price: {input: 1, output: 2}}\n"
        "  w: {type: scripted, script: cast.yaml}\n"
        "steps:\n  a: {agent: mine, prompt: x, gates: [{review: mine}]}\n  b: {agent: [w, known], prompt: x, join: best}\n"
    )

    assert agents_without_price(open_workflow(path), agent_types()) == ("mine",)
