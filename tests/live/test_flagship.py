"""Four vendors in one workflow, through `podium run`: claude plans, codex implements, gemini judges, Ollama tells."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.testing.models.server import ModelServer, Rule, Tokens
from tests.e2e.kit import Project, closing, new_project
from tests.live.programs import found
from tests.live.verdicts import Judging

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

NO_SERVICE = "agents:\n" + "".join(
    f"  {name}: {{base_url: 'http://127.0.0.1:9'}}\n"
    for name in ("api", "claude", "codex", "gemini", "ollama")
)
"""Keys of the tests are sent to no vendor."""
KEYS = {
    "ANTHROPIC_API_KEY": "sk-dummy-of-claude-4711",
    "OPENAI_API_KEY": "sk-dummy-of-codex-4712",
    "GEMINI_API_KEY": "dummy-of-gemini-4713",
}
FLOW = """\
podium: 1
name: shed
inputs: {{task: string}}
limits: {{usd: 5, time: 10m}}
agents:
  claude: {{command: {claude}, base_url: "{url}"}}
  codex: {{command: {codex}, base_url: "{url}/v1"}}
  gemini: {{command: {gemini}, base_url: "{url}", model: gemini-2.5-flash}}
  local: {{type: ollama, base_url: "{url}", model: llama3.2}}
steps:
  plan:
    agent: claude
    prompt: "Plan this change: {{{{ inputs.task }}}}"
    output: {{schema: Plan}}
  implement:
    agent: codex
    prompt: "Carry out: {{{{ steps.plan.output.summary }}}}"
    touches: ["src/**"]
    gates: [{{run: [grep, -q, BLUE, src/shed.py]}}]
  review:
    review: [gemini]
    of: implement
    on: {{rejected: implement}}
  tell:
    agent: local
    prompt: "Sum up for people: {{{{ steps.implement.files }}}}"
    output: {{file: summary.md}}
  land:
    git: {{land: "${{{{ run.branch }}}}", message: "${{{{ steps.plan.output.title }}}}"}}
"""
PLAN = {
    "title": "Paint the shed",
    "summary": "make shed 7391 blue",
    "steps": [{"title": "paint", "description": "set the colour", "files": ["src/shed.py"]}],
    "files": ["src/shed.py"],
    "risks": [],
    "questions": [],
}
PATCH = (
    "*** Begin Patch\n*** Update File: src/shed.py\n@@\n-COLOUR = 'RED'\n+COLOUR = 'BLUE'\n*** End Patch\n"
)
DIFF = "-COLOUR = 'RED'\n+COLOUR = 'BLUE'"


def step(name: str) -> str:
    """The line of the excerpt by which a worker knows where it is."""
    return f'You do step "{name}" of the workflow "shed"'


def saw(*parts: str) -> Any:
    """Answers only a request that holds all of these; any other is refused, which the run cannot survive."""
    return lambda asked: all(part in asked.text for part in parts)


def rules() -> Iterator[Rule]:
    yield Rule(
        match=saw(step("plan"), "Plan this change: paint it", "next: implement"),
        value=PLAN,
        usage=Tokens(1000, 100, 500),
    )
    yield Rule(
        match=saw(
            step("implement"), "make shed 7391 blue", '"grep -q BLUE src/shed.py" passes', "plan: passed"
        ),
        tools=[("apply_patch", {"input": PATCH})],
        text="It is blue",
        usage=Tokens(200, 30, 40),
    )
    yield Rule(match=saw(step("gemini"), DIFF, "nonce: "), usage=Tokens(3000, 60, 300))
    yield Rule(
        match=saw(step("tell"), "src/shed.py", "review: passed"), text="Shed is blue.", usage=Tokens(77, 7)
    )


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with Judging(*rules()) as serving:
        yield serving


@pytest.fixture
def project(tmp_path: Path, server: ModelServer) -> Iterator[Project]:
    programs = {name: found(name) for name in ("claude", "codex", "gemini")}
    files = {"flow.yaml": FLOW.format(url=server.url, **programs), "src/shed.py": "COLOUR = 'RED'\n"}
    with closing(new_project(tmp_path / "p", files)) as own:
        own.env |= KEYS
        yield own


@pytest.mark.req("R057", "R058", "R207", "R208", "R210")
def test_four_vendors_plan_implement_judge_and_tell_and_the_work_lands(
    project: Project, server: ModelServer
) -> None:
    ended = project.podium("run", "flow.yaml", "-i", "task=paint it", "--sandbox", "limits", timeout_s=200)

    assert ended.code == 0, ended.out + ended.err
    assert project.git("show", "main:src/shed.py") == "COLOUR = 'BLUE'"
    assert project.git("log", "-1", "--format=%s", "main") == "Paint the shed"
    told = project.root / ".podium/runs" / project.run_id() / "artifacts/tell/summary.md"
    assert told.read_text() == "Shed is blue."
    calls = [
        re.sub(r".*(messages|responses|GenerateContent|chat).*", r"\1", one.path)
        for one in server.requests_to()
    ]
    assert calls == ["messages", "responses", "responses", "GenerateContent", "chat"], "and nothing else"
    assert [*project.marked(), *project.inhabitants(), *project.leftovers()] == []


@pytest.mark.req("R207", "R208", "R211")
def test_every_token_of_every_agent_is_in_the_records(project: Project) -> None:
    """codex was asked twice, and its own counter of input includes what was cached; ours does not."""
    ended = project.podium("run", "flow.yaml", "-i", "task=paint it", "--sandbox", "limits", timeout_s=200)

    assert ended.code == 0, ended.out + ended.err
    run = project.root / ".podium/runs" / project.run_id()
    lines = [json.loads(line) for line in (run / "token_usage.jsonl").read_text().splitlines()]
    kinds = ("input_tokens", "cached_tokens", "output_tokens")
    assert {line["agent"]: tuple(line[kind] for kind in kinds) for line in lines} == {
        "claude": (1000, 500, 100),
        "codex": (400, 80, 60),
        "gemini": (3000, 300, 60),
        "local": (77, 0, 7),
    }
    summary = (run / "run_summary.md").read_text()
    assert "| claude | claude-sonnet-5 | 1 | 1,000 | 500 | 100 | $" in summary
    assert "| codex | gpt-5.5 | 1 | 400 | 80 | 60 | $" in summary
    assert "| gemini | gemini-2.5-flash | 1 | 3,000 | 300 | 60 | $" in summary
    assert "| local | llama3.2 | 1 | 77 | 0 | 7 |" in summary
    sources = {line["agent"]: line["cost_source"] for line in lines}
    assert (sources["claude"], sources["local"]) == ("reported", "reported")
    assert sources["codex"] == sources["gemini"] and sources["codex"].startswith("genai-prices ")
    assert all(line["cost_usd"] is not None for line in lines)


EXAMPLE = Path(__file__).parents[2] / "examples/ship_change"
INSTALLED = ("claude", "codex", "gemini")


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Project]:
    """The example of the reference as it is, in a project where the programs are on the PATH and nobody has logged in."""
    files = {
        path.relative_to(EXAMPLE).as_posix(): path.read_text()
        for path in EXAMPLE.rglob("*")
        if path.suffix in (".yaml", ".md")
    }
    with closing(new_project(tmp_path / "p", files)) as own:
        folders = {str(Path(found(name)).parent) for name in INSTALLED}
        # The gates start pytest and ruff.
        tools = str(Path(sys.executable).parent)
        own.env["PATH"] = os.pathsep.join((*folders, tools, os.environ.get("PATH", os.defpath)))
        own.put({".podium/config.yaml": NO_SERVICE})
        yield own


@pytest.mark.req("R008", "R139")
def test_without_a_key_or_a_login_run_says_what_is_missing_before_anything_starts(example: Project) -> None:
    ended = example.podium("run", "workflow.yaml", "-i", "task=x", "--sandbox", "limits")

    assert ended.code == 2
    for name in KEYS:
        assert f"{name} is not set" in ended.err
    assert 'needed by "plan"' in ended.err
    with example.store() as store:
        assert store is None or store.heads() == ()


def test_a_key_or_a_login_is_all_that_it_needs(example: Project) -> None:
    (example.home / ".claude").mkdir()
    (example.home / ".claude/.credentials.json").write_text('{"claudeAiOauth": {"accessToken": "of-nobody"}}')
    example.env |= {name: key for name, key in KEYS.items() if name != "ANTHROPIC_API_KEY"}

    checked = example.podium("doctor", "workflow.yaml", "--sandbox", "limits")

    assert checked.code == 0, checked.out
    assert "workflow.yaml can run" in checked.out
