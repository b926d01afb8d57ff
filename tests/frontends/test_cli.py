"""The command line: data on stdout, talk on stderr, exit codes by the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

pytestmark = pytest.mark.slow

SVG: Final = "{http://www.w3.org/2000/svg}"

GOOD = """\
podium: 1
name: good
inputs: {n: {type: int, default: 1}, who: string}
steps:
  work: {role: implementer, prompt: "Do {{ inputs.who }}"}
  test: {run: make test, on: {failed: work}}
"""
BROKEN = GOOD.replace("prompt:", "promt:").replace("failed: work", "failed: wrok")


def podium(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "podium", *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "broken.yaml").write_text(BROKEN)
    return tmp_path


def test_a_good_file_validates_with_exit_0(project: Path) -> None:
    done = podium("validate", "good.yaml", cwd=project)

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == 'good.yaml: good\n  runs tests: "test" (tests, no judge: changed tests fail)\n'


def test_all_mistakes_are_told_at_once_with_exit_2(project: Path) -> None:
    """R017"""
    done = podium("validate", "broken.yaml", cwd=project)

    assert done.returncode == 2
    assert (
        'broken.yaml:5:29: step "work" has an unknown key "promt"\n  hint: did you mean "prompt"?'
        in done.stdout
    )
    assert "broken.yaml:6:" in done.stdout
    assert 'step "wrok" does not exist in this block' in done.stdout
    assert "Traceback" not in done.stderr


def test_problems_are_also_data(project: Path) -> None:
    done = podium("validate", "--json", "good.yaml", "broken.yaml", cwd=project)

    rows = json.loads(done.stdout)
    assert done.returncode == 2
    assert {row["rule"] for row in rows} >= {3, 7}
    assert all(row["file"] == "broken.yaml" and row["line"] > 0 for row in rows)


def test_a_path_that_leaves_the_project_has_an_exit_code_of_its_own(project: Path) -> None:
    """R183 R143"""
    (project / "out.yaml").write_text(GOOD + "  away: {run: make, dir: ../x}\n")

    done = podium("validate", "out.yaml", cwd=project)

    assert done.returncode == 3
    assert '"../x" leaves the project' in done.stdout


def test_a_missing_file_is_named(project: Path) -> None:
    done = podium("validate", "nothing.yaml", cwd=project)

    assert done.returncode == 2
    assert "nothing.yaml" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_graph_is_drawn_as_text_and_as_mermaid(project: Path) -> None:
    text = podium("graph", "good.yaml", cwd=project)
    mermaid = podium("graph", "good.yaml", "--format", "mermaid", cwd=project)

    assert "test  [run make test]" in text.stdout
    assert "failed -> work" in text.stdout
    assert mermaid.stdout.startswith("flowchart TD\n")
    assert "test -->|failed| work" in mermaid.stdout


def test_a_graph_is_drawn_in_boxes_as_svg_and_for_graphviz(project: Path) -> None:
    boxes = podium("graph", "good.yaml", "--format", "boxes", cwd=project).stdout
    drawn = podium("graph", "good.yaml", "--svg", cwd=project).stdout
    dot = podium("graph", "good.yaml", "--dot", cwd=project).stdout

    assert {"work", "test"} <= set(boxes.split())
    assert [node.get("data-path") for node in ET.fromstring(drawn).iter(f"{SVG}g")] == ["work", "test"]
    assert dot.startswith('digraph "good" {')
    assert '"test" -> "work" [label="failed"]' in dot


def test_a_picture_is_of_a_file_or_of_a_run(project: Path) -> None:
    neither = podium("graph", cwd=project)
    both = podium("graph", "good.yaml", "--run", "x", cwd=project)
    outline = podium("graph", "--run", "x", "--dot", cwd=project)

    assert [neither.returncode, both.returncode, outline.returncode] == [2, 2, 2]
    assert "name a workflow file, or a run with --run" in neither.stderr + both.stderr
    assert "use --format boxes or --format svg" in outline.stderr


def test_a_broken_file_has_no_graph(project: Path) -> None:
    done = podium("graph", "broken.yaml", cwd=project)

    assert (done.returncode, done.stdout) == (2, "")
    assert "promt" in done.stderr


def test_the_schema_is_printed_for_editors(project: Path) -> None:
    done = podium("schema", cwd=project)

    schema = json.loads(done.stdout)
    assert "steps" in schema["properties"]
    assert json.loads(podium("schema", "--of", "config", cwd=project).stdout) != schema


def test_a_resolved_workflow_is_a_workflow(project: Path) -> None:
    done = podium("resolve", "good.yaml", cwd=project)
    (project / "again.yaml").write_text(done.stdout)

    assert done.returncode == 0
    assert podium("validate", "again.yaml", cwd=project).returncode == 0
    assert "# good.yaml:5" in podium("resolve", "--origin", "good.yaml", cwd=project).stdout


def test_a_rehearsal_ends_with_the_exit_code_of_the_run(project: Path) -> None:
    (project / "cast.yaml").write_text("- {match: {step: test}, exit: 1}\n")

    well = podium("simulate", "good.yaml", cwd=project)
    badly = podium("simulate", "good.yaml", "--cast", "cast.yaml", "--json", cwd=project)

    assert well.returncode == 0
    assert "passed  " in well.stdout
    assert badly.returncode != 0
    assert json.loads(badly.stdout)["status"] != "passed"


def test_many_rehearsals_are_summed_up(project: Path) -> None:
    done = podium("simulate", "good.yaml", "-n", "20", "--seed", "3", cwd=project)
    again = podium("simulate", "good.yaml", "-n", "20", "--seed", "3", "--json", cwd=project)

    assert done.stdout.startswith("20 runs\n")
    assert json.loads(again.stdout)["runs"] == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "good.yaml", "-i", "n=many"), 'input "n" must be int'),
        (("simulate", "good.yaml", "-i", "n"), "is not an input"),
        (("simulate", "good.yaml", "-i", "m=1"), 'good has no input "m"'),
        (("simulate", "good.yaml", "-n", "2", "--cast", "x"), "choose one"),
        (("valdate", "good.yaml"), "No such command"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(project: Path, arguments: tuple[str, ...], message: str) -> None:
    done = podium(*arguments, cwd=project)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_every_command_has_a_help_text(project: Path) -> None:
    listing = podium("--help", cwd=project).stdout
    for name in ("validate", "resolve", "graph", "simulate", "schema"):
        assert name in listing
        assert podium(name, "--help", cwd=project).returncode == 0


KEYS = """\
podium: 1
name: keys
agents:
  claude: {permision_mode: plan, thinking: 4k, effort: turbo, args: [--betas=x]}
  gem: {type: acp, command: [gemini, --acp], authenticate: oauth, price: {input: 1, output: 1}}
steps:
  a: {agent: claude, prompt: x, touches: []}
  b: {agent: gem, prompt: x, touches: []}
"""


def test_keys_of_agents_are_refused_with_place_reason_and_nearest_key(tmp_path: Path) -> None:
    (tmp_path / "keys.yaml").write_text(KEYS)
    (tmp_path / ".podium").mkdir()
    (tmp_path / ".podium/config.yaml").write_text("agents:\n  codex: {mpc: {}}\n")
    done = podium("validate", "keys.yaml", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout == (
        '.podium/config.yaml:2:11: agent "codex" of type codex has an unknown key "mpc"\n'
        '  hint: did you mean "mcp"?\n'
        'keys.yaml:4:12: agent "claude" of type claude has an unknown key "permision_mode"\n'
        '  hint: did you mean "permission_mode"?\n'
        "keys.yaml:4:34: claude cannot honour thinking: its models decide by themselves how long they think; use effort\n"
        'keys.yaml:4:56: "effort" must be low, medium, high, xhigh or max\n'
        "keys.yaml:4:63: agents.claude.args of claude must not be set by a workflow or a template\n"
        "  hint: set it in .podium/config.yaml or your own configuration, or type --set agents.claude.args=...\n"
    )


def test_options_of_an_agent_may_be_typed(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(
        "podium: 1\nname: flow\nsteps: {a: {agent: claude, prompt: x, touches: []}}\n"
    )
    done = podium("validate", "flow.yaml", "--set", "agents.claude.args=[--betas=x]", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "flow.yaml: good\n")
