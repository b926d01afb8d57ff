"""People and the real programs: calls of tools that a person approves, and conversations, in a sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.testing.models.server import ModelServer, Rule
from tests.e2e.kit import Project, closing, new_project
from tests.live.programs import found
from tests.live.sandbox_kit import needs_bubblewrap
from tests.live.test_team import KEYS, saw

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

AGENTS = {
    "claude": 'claude: {{command: {program}, base_url: "{url}"}}',
    "gemini": (
        "gemini: {{type: acp, command: [{program}, --acp, --model, gemini-2.5-flash], key: GEMINI_API_KEY, "
        'env: ["GOOGLE_GEMINI_BASE_URL={url}", GEMINI_CLI_TRUST_WORKSPACE=true, GEMINI_CLI_NO_RELAUNCH=true]}}'
    ),
}
SHELL = {"claude": "Bash", "gemini": "run_shell_command"}
SHIP = """\
podium: 1
name: ship
limits: {{usd: 5, time: 10m, unknown_cost: count_tokens}}
agents: {{{agent}}}
steps:
  ship:
    agent: {name}
    prompt: Ship 7391
    approve_tools: {{tools: ["run(*deployed*)"], wait: {wait}}}
    timeout: 120s
"""
TALK = """\
podium: 1
name: talk
limits: {{usd: 5, time: 10m, unknown_cost: count_tokens}}
agents: {{{agent}}}
steps:
  spec:
    agent: {name}
    prompt: Ask about shed 7391
    touches: []
    timeout: 120s
    team: {{owner: {{agent: human, turns: 3}}}}
"""
LONG = "Which colour should the shed have? " * 20


@pytest.fixture(params=sorted(AGENTS))
def name(request: pytest.FixtureRequest) -> str:
    needs_bubblewrap()
    return str(request.param)


def shell(name: str, command: str) -> tuple[str, dict[str, str]]:
    return SHELL[name], {"command": command, "description": "as asked"}


def project_for(folder: Path, flow: str, name: str, server: ModelServer, wait: str = "1s") -> Project:
    agent = AGENTS[name].format(program=found(name), url=server.url)
    own = new_project(
        folder, {"flow.yaml": flow.format(agent=agent, name=name, wait=wait), "README.md": "x\n"}
    )
    own.env |= KEYS
    return own


def kinds(project: Project) -> list[str]:
    return [event["kind"] for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]


@pytest.fixture
def shipping(name: str) -> Iterator[ModelServer]:
    before, ship, after = (shell(name, f"touch {each}") for each in ("before", "deployed", "after"))
    with ModelServer(
        Rule(match=saw('step "ship"'), tools=[before, ship, after], text="It is shipped.")
    ) as server:
        yield server


def test_a_call_is_made_only_after_a_person_has_approved_it(
    tmp_path: Path, name: str, shipping: ModelServer
) -> None:
    with closing(project_for(tmp_path / "p", SHIP, name, shipping)) as project:
        parked = project.podium("run", "flow.yaml", "--yes", timeout_s=200)
        assert parked.code == 6, parked.out + parked.err
        (question,) = json.loads(project.podium("inbox", "--json").out)
        assert question["question"].endswith("run: touch deployed")
        assert "deployed" not in project.podium("diff", project.run_id(), "ship").out

        approved = project.podium("approve", timeout_s=200)

        assert approved.code == 0, approved.out + approved.err
        assert kinds(project) == ["asked", "ok"]
        diff = project.podium("diff").out
        assert all(f"a/{each} " in diff for each in ("before", "deployed", "after"))


def test_a_call_that_is_held_goes_on_when_it_is_approved(
    tmp_path: Path, name: str, shipping: ModelServer
) -> None:
    with closing(project_for(tmp_path / "p", SHIP, name, shipping, wait="4m")) as project:
        child = project.start("run", "flow.yaml", "--yes")
        project.until_event(project.run_id(), "ApprovalAsked")
        assert project.podium("approve", "--detach").code == 0
        assert child.wait(200) == 0
        assert kinds(project) == ["ok"] and "a/deployed " in project.podium("diff").out


def test_a_rejected_call_is_not_made(tmp_path: Path, name: str, shipping: ModelServer) -> None:
    with closing(project_for(tmp_path / "p", SHIP, name, shipping, wait="4m")) as project:
        child = project.start("run", "flow.yaml", "--yes")
        project.until_event(project.run_id(), "ApprovalAsked")
        assert project.podium("reject", "--feedback", "not today", "--detach").code == 0
        assert child.wait(200) in (0, 1)
        diff = project.podium("diff").out
        assert "a/before " in diff and "a/deployed " not in diff
        # The Agent Client Protocol has no place for a reason.
        assert name == "gemini" or any("not today" in str(each.body) for each in shipping.requests)


@pytest.mark.parametrize("name", ["claude"])
def test_an_agent_and_a_person_take_turns_and_what_it_says_is_shown_in_pieces(
    tmp_path: Path, name: str
) -> None:
    needs_bubblewrap()
    rules = (
        Rule(
            match=saw("The conversation is over", "as blue as the sky"),
            text="It will be blue.",
        ),
        Rule(text=LONG),
    )
    with ModelServer(*rules) as server, closing(project_for(tmp_path / "p", TALK, name, server)) as project:
        parked = project.podium("run", "flow.yaml", "--yes", timeout_s=200)
        assert parked.code == 6, parked.out + parked.err
        progress = next(project.root.glob(".podium/runs/*/agent_logs/spec/1/progress.jsonl")).read_text(
            "utf-8"
        )
        said = [entry["text"] for entry in map(json.loads, progress.splitlines()) if entry["kind"] == "text"]
        assert "".join(said).strip() == LONG.strip()
        ended = project.podium("answer", "as blue as the sky\ndone", timeout_s=200)
        assert ended.code == 0, ended.out + ended.err
        assert kinds(project) == ["asked", "ok"]
