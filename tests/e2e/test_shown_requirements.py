"""Requirements that only unit tests showed, through the command line: policies of approval, models, loops, reports, short calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.testing.models.server import ModelServer, Rule
from tests.e2e.kit import closing, new_project
from tests.e2e.supervised import CONFIG, FLOW, outcomes, run, supervised

pytestmark = pytest.mark.slow

POLICY = """\
approval_gates:
  medium: {conditions: [file_count < 10], action: notify_and_timeout, timeout_minutes: 30}
  low: {conditions: [file_count < 3], action: auto_approve}
  high: {conditions: [changes_auth_code], action: require_approval, approvers: [ann]}
"""
SHIP = """\
workflow:
  steps:
    code: {role: implementer, next: ship}
    ship: {gate_type: orchestrator, command: git commit, terminal: true}
"""


def writes(*files: str, visit: int = 1) -> str:
    contents = ", ".join(f"{name}: 'x{visit}'" for name in files)
    return f"- {{match: {{step: code, visit: {visit}}}, write: {{{contents}}}, text: 'v{visit}'}}\n"


@pytest.mark.req("R194", "C29")
@pytest.mark.parametrize(
    ("files", "level", "code"),
    [
        (("a.txt",), "auto", 0),
        (("a.txt", "b.txt", "c.txt", "d.txt"), "notify", 6),
        (("src/auth/login.py",), "human", 6),
    ],
)
def test_the_facts_of_a_change_decide_who_approves_its_landing(
    tmp_path: Path, files: tuple[str, ...], level: str, code: int
) -> None:
    with supervised(tmp_path, {FLOW: SHIP, CONFIG: POLICY}, writes(*files)) as project:
        done = run(project)
        assert done.code == code, done.err
        landed = project.git("ls-tree", "-r", "--name-only", "main").split()
        assert set(files) <= set(landed) if code == 0 else not set(files) & set(landed)
        [asked] = [
            event for event in project.events(project.run_id()) if event["type"] == "ApprovalAsked"
        ] or [{}]
        assert asked.get("level", "auto") == level


@pytest.mark.req("R194")
def test_a_rejected_change_goes_back_to_the_one_who_made_it(tmp_path: Path) -> None:
    cast = writes("src/auth/a.py") + writes("src/auth/a.py", visit=2)
    with supervised(tmp_path, {FLOW: SHIP, CONFIG: POLICY}, cast) as project:
        assert run(project).code == 6
        assert project.podium("reject", "--feedback", "Use the library").code == 6
        assert "Use the library" in project.podium("prompt", "@1", "code~2").out
        done = project.podium("approve", "--json")
        assert done.code == 0, done.err
        assert outcomes(done)["ship~2"] == "passed"
        assert project.git("show", "main:src/auth/a.py") == "x2"


LOOP = """\
podium: 1
name: slogan
inputs: {product: string}
agents:
  pen: {type: ollama}
roles:
  author: {agent: pen, touches: []}
  critic: {extends: reviewer, agent: pen, context: {include: []}}
steps:
  slogan:
    role: author
    prompt: "Create a slogan for: {{ inputs.product }}"
    gates: [{review: critic, phrase: "SHIP IT!", prompt: "Please review this slogan."}]
    retry: {attempts: 3, on_exhausted: accept_best}
outputs: {slogan: "${{ steps.slogan.text }}"}
"""


@pytest.mark.req("R082", "R102", "R243")
def test_a_loop_on_a_local_model_leaves_a_record_of_its_turns(tmp_path: Path) -> None:
    rules = (
        Rule(match="Save our seas", text="SHIP IT!"),
        Rule(match="review this", text="Name the sea"),
        Rule(match="Name the sea", text="Save our seas"),
        Rule(text="Drink green"),
    )
    with ModelServer(*rules) as server, closing(new_project(tmp_path, {"flow.yaml": LOOP})) as project:
        project.env |= {"OLLAMA_BASE_URL": server.url, "OLLAMA_MODEL_NAME": "gemma2:2b"}
        done = project.podium("run", "flow.yaml", "-i", "product=bottles", "--sandbox", "none", "--json")
        assert done.code == 0, done.err
        assert {request.body["model"] for request in server.requests} == {"gemma2:2b"}
        record = done.data()
        [step] = [row for row in record["steps"] if row["path"] == "slogan"]
        assert (record["inputs"], record["outputs"]) == ({"product": "bottles"}, {"slogan": "Save our seas"})
        assert (record["outcome"], step["attempts"]) == ("passed", 2)
        assert record["started_at"] < record["ended_at"]
        assert [row["model"] for row in record["agents"]] == ["gemma2:2b"]
        ended = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
        verdicts = [event["verdict"]["decision"] for event in ended if event.get("verdict")]
        assert verdicts == ["reject", "approve"]

        other = ("--set", "agents.pen.model=llama3.2:latest")
        assert project.podium("run", "flow.yaml", "-i", "product=bags", "--sandbox", "none", *other).code == 0
        assert server.requests[-1].body["model"] == "llama3.2:latest"


@pytest.mark.req("R124")
@pytest.mark.parametrize(("status", "code"), [("done", 0), ("blocked", 1), ("failed", 1)])
def test_the_report_of_a_worker_has_one_shape_and_its_status_counts(
    tmp_path: Path, status: str, code: int
) -> None:
    report = {
        "status": status, "summary": "Add a greeting", "actions": ["wrote a.txt"], "files": ["a.txt"],
        "blockers": [] if status == "done" else ["no access to the library"], "next_step": "review",
    }  # fmt: skip
    flow = "podium: 1\ninputs: {task: string}\nsteps:\n  code: {role: implementer, prompt: Go., output: {schema: Implementation}, retry: 1}\n"
    cast = f"- {{match: {{step: code}}, write: {{a.txt: x}}, output: {json.dumps(report)}}}\n"
    with supervised(tmp_path, {FLOW: flow}, cast) as project:
        done = run(project, "--no-human")
        assert done.code == code, done.err
        [step] = [row for row in done.data()["steps"] if row["path"] == "code"]
        if status == "done":
            assert step["output"] == report
        else:
            assert "no access to the library" in step["why"]


@pytest.mark.req("R124")
@pytest.mark.parametrize(
    ("status", "outcome"), [("SUCCESS", "passed"), ("NEEDS_REVISION", "failed"), ("BLOCKED", "blocked")]
)
@pytest.mark.parametrize("role", ["implementer", "quant_dev"])
def test_a_worker_of_a_supervised_workflow_reports_in_the_shape_of_its_format(
    tmp_path: Path, role: str, status: str, outcome: str
) -> None:
    """The block of the document, with its own words and nulls."""
    report = {
        "status": status, "action_taken": "wrote a.txt", "files_modified": ["a.txt"], "review_status": None,
        "blockers": None if status == "SUCCESS" else ["no access"], "next_step": "review",
    }  # fmt: skip
    flow = SHIP.replace("implementer", role)
    cast = f"- {{match: {{step: code}}, write: {{a.txt: x}}, output: {json.dumps(report)}}}\n"
    roles = {".podium/roles/quant_dev.yaml": "extends: implementer\nsystem_prompt_additions: Be fast.\n"}
    with supervised(tmp_path, {FLOW: flow, **roles}, cast) as project:
        done = run(project, "--no-human")
        [step] = [row for row in done.data()["steps"] if row["path"] == "code"]
        assert step["outcome"] == outcome, done.err
        if outcome == "passed":
            assert step["output"] == {
                "status": "done", "summary": "wrote a.txt", "actions": [], "files": ["a.txt"],
                "blockers": [], "next_step": "review",
            }  # fmt: skip
        else:
            assert "no access" in step["why"]


@pytest.mark.req("R231")
def test_short_calls_do_what_the_targets_of_a_makefile_did(tmp_path: Path) -> None:
    """S0: make workflow STORY=..., log-transitions, log-breaker, summary, tokens and states."""
    flow = 'podium: 1\nname: post\ninputs: {story: string}\nsteps:\n  ask: {human: "Good?"}\n  done: {run: [echo, "${{ inputs.story }}"]}\n'
    with closing(new_project(tmp_path, {"post.yaml": flow})) as project:
        assert project.podium("run", "post.yaml", "-i", "story=post_03").code == 6
        assert "ask" in project.podium().out
        assert "Good?" in project.podium("inbox").out
        assert project.podium("approve").code == 0
        newest = project.podium("show").out
        assert newest == project.podium("show", "@1").out == project.podium("show", "latest").out
        assert "post_03" in project.podium("logs", "@1", "done").out
        assert project.podium("costs").code == 0
        [log] = project.root.glob(".podium/runs/*/state_log.jsonl")
        entered = [
            row["state"]
            for line in log.read_text().splitlines()
            if (row := json.loads(line))["event"] == "enter"
        ]
        assert [state for state in entered if state] == ["ask", "done"]
        assert project.podium("rerun", "@1", "done", "--yes").code == 0
        assert "from " in project.podium("show").out
