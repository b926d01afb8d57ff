"""The user's keys and logins: given to the agent that asks for them, hidden from everything that is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.adapters.agents.command.agent import Command, CommandConversation
from podium.app.author.load import open_workflow
from podium.attempt.agent.program import _write_files
from podium.attempt.programs import default_agent
from podium.core.hash_chain import RunId
from podium.credentials import read_keys, tokens_of
from podium.ports.agent import AgentRequest, ProgramSpec
from podium.ports.agent_type import Credentials
from podium.redaction.mask import Mask
from podium.tasks.run_context import RunContext
from podium.wiring import agent_uses, agents_for, make_host, played_by, used_agents
from tests.attempt.agent_attempts import AGENTS, Asked, ask
from tests.git.kit import Project
from tests.installed import agent

KEY = "sk-test-4711-0815"
FLOW = "agents: {k: {type: keyed, command: [sh, -c, 'echo my key is $THEIR_KEY']}}\nsteps:\n  a: {agent: k, prompt: x}\n"


class Keyed(Command):
    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, CommandConversation]:
        program, conversation = super().prepare(request)
        assert set(request.env) <= {"THEIR_KEY"}, "nothing that it did not ask for"
        return ProgramSpec(argv=program.argv, stdin=program.stdin, env=request.env), conversation


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        AGENTS, "keyed", agent("keyed", Keyed(), credentials=Credentials(keys=("THEIR_KEY",)))
    )


def files(asked: Asked) -> bytes:
    return b"".join(path.read_bytes() for path in asked.host.state_dir.rglob("*") if path.is_file())


@pytest.mark.req("R187")
def test_an_agent_gets_the_keys_it_asks_for_and_they_are_written_nowhere(
    project: Project, tmp_path: Path
) -> None:
    env = {"PATH": "/usr/bin:/bin", "THEIR_KEY": KEY, "OTHER_KEY": "sk-other-0000"}
    asked, played = ask(project, tmp_path, FLOW, host_env=env, mask=Mask({"THEIR_KEY": KEY}))

    assert "my key is ***" in played.result("a")["text"]
    assert KEY.encode() not in files(asked)


def test_a_key_that_the_run_would_not_hide_is_not_given(project: Project, tmp_path: Path) -> None:
    _, played = ask(project, tmp_path, FLOW, host_env={"PATH": "/usr/bin:/bin", "THEIR_KEY": KEY})

    assert "takes its key from THEIR_KEY, which is not masked in this run" in played.result("a")["message"]


def test_an_agent_that_is_chosen_during_the_run_needs_its_sandbox_too(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(AGENTS, "claude", agent("claude", Keyed()))
    flow = "agents: {}\ninputs: {who: string}\nsteps:\n  a: {agent: '${{ inputs.who }}', prompt: x}\n"
    _, played = ask(project, tmp_path, flow, inputs={"who": "claude"})

    assert 'agent "claude" needs a stronger sandbox than this run has' in played.result("a")["message"]


@pytest.mark.req("R187")
def test_a_host_hides_the_keys_and_logins_of_all_agents_of_a_workflow_and_of_those_it_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    token = "oat-0123456789-0123456789"
    (home / ".claude/.credentials.json").write_text(f'{{"claudeAiOauth": {{"accessToken": "{token}"}}}}')
    env = {
        "HOME": str(home),
        "ANTHROPIC_API_KEY": KEY,
        "INNER_KEY": "sk-inner-0000",
        "LOOSE": "sk-loose-0000",
    }
    inner = "podium: 1\nname: inner\nagents: {c: {type: claude, key: INNER_KEY}}\nsteps: {b: {agent: c, prompt: x}}\n"
    (tmp_path / "inner.yaml").write_text(inner)
    outer = (
        "podium: 1\nname: outer\nagents: {l: {type: claude, auth: login}}\n"
        "steps:\n  a: {agent: l, prompt: x}\n  i: {workflow: ./inner.yaml}\n"
    )
    (tmp_path / "outer.yaml").write_text(outer)
    workflow = open_workflow(tmp_path / "outer.yaml", project=tmp_path)
    agents, logins = agents_for(agent_uses(workflow), env)
    assert set(read_keys(used_agents(agent_uses(workflow), agents), env).values()) >= {KEY, "sk-inner-0000"}
    assert list(tokens_of(logins.contents).values()) == [token]
    assert agents["claude"].login() == logins.contents["claude"]

    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    host = make_host(RunId("20260101-a"), workflow, tmp_path, sandbox="limits")

    assert [host.mask.hides(value) for value in (KEY, "sk-inner-0000", token, "sk-loose-0000")] == [
        True, True, True, False,
    ]  # fmt: skip
    _, unused = agents_for(agent_uses(open_workflow(tmp_path / "inner.yaml", project=tmp_path)), env)
    assert unused.contents == {}, "its agents have a key"


def test_a_stand_in_plays_types_that_are_not_installed_and_needs_nothing_of_the_user(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(
        "podium: 1\nname: flow\nagents: {k: {type: knitted}}\nsteps: {a: {agent: k, prompt: x}}\n"
    )
    workflow = open_workflow(file, project=tmp_path)
    stand_in = Command()

    agents, logins = played_by(stand_in, RunContext(RunId("20260101-a"), agents=agent_uses(workflow)))

    assert {agents[name].adapter for name in ("knitted", "claude")} == {stand_in}
    assert [agents["claude"].type.program, agents["claude"].type.credentials] == ["", None]
    assert agents["claude"].type.capabilities.vendor == "anthropic", "what it once cost can still be told"
    assert default_agent(agents, {}, {}) == "claude", "it plays the agent that works where none is named"
    assert logins.contents == {}


def test_what_is_put_into_a_home_is_for_its_owner_alone(tmp_path: Path) -> None:
    _write_files(tmp_path, {".claude/.credentials.json": b"{}"}, None)

    assert (tmp_path / ".claude/.credentials.json").stat().st_mode & 0o777 == 0o600
