"""The cascade as a person meets it: the command line over the workflow over the project over the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.events import AttemptEnded
from tests.engine.kit import HEAD, Project
from tests.frontends.test_running import call, code, data

STEPS = '  a: {run: [echo, x]}\n  ask: {human: "Go on?"}\n  b: {run: [echo, y]}\n  c: {run: [echo, z]}\n'


@pytest.mark.req("R076")
def test_what_the_command_line_sets_holds_for_the_whole_run_also_after_a_resume(project: Project) -> None:
    project.flow(STEPS, head=HEAD + "limits: {transitions: 2}\n")

    assert code(call("run", "flow.yaml", "--sandbox", "none", "--set", "limits.transitions=50")) == 6
    done = call("approve", "--json")

    assert (code(done), data(done)["status"]) == (0, "passed")
    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 6
    assert code(call("approve")) == 5


@pytest.mark.req("R076")
def test_a_workflow_may_not_loosen_what_the_project_has_set(project: Project) -> None:
    project.write(".podium/config.yaml", "limits: {usd: 1}\nsandbox: bubblewrap\nnetwork: []\n")
    project.flow(
        "  a: {run: [echo, x], network: [packages.example]}\n",
        head=HEAD + "limits: {usd: 5}\nsandbox: none\nprotect: []\n",
    )

    done = call("validate", "flow.yaml")

    assert code(done) == 2
    for fact in (
        "limits.usd: 5 is more than 1",
        "sandbox: none is weaker than bubblewrap",
        "network: packages.example is not in []",
    ):
        assert f"{fact}" in done.stdout
    assert "the value set by .podium/config.yaml:1" in done.stdout


def test_resolve_tells_what_came_from_where(project: Project, tmp_path: Path) -> None:
    (tmp_path / "config/podium").mkdir(parents=True)
    (tmp_path / "config/podium/config.yaml").write_text("max_parallel: 2\nlimits: {calls: 9}\n", "utf-8")
    project.write(".podium/config.yaml", "limits: {calls: 8}\n")
    project.flow("  a: {run: [echo, x]}\n", head=HEAD + "limits: {calls: 7, usd: 3}\n")

    text = call("resolve", "flow.yaml", "--origin", "--set", "limits.usd=4").stdout

    assert "  usd: 4  # command line:1" in text
    assert "  calls: 7  # flow.yaml:3" in text
    assert f"max_parallel: 2  # {tmp_path}/config/podium/config.yaml:1" in text
    assert "  time: 2h  # podium/defaults.yaml" in text


@pytest.mark.req("R246")
@pytest.mark.parametrize(("typed", "advisor"), [((), "first"), (("--set", "breaker.ask=second"), "second")])
def test_the_advisor_is_the_one_of_the_configuration_unless_the_run_has_another(
    project: Project, typed: tuple[str, ...], advisor: str
) -> None:
    agents = ", ".join(f"{name}: {{type: scripted, script: cast.yaml}}" for name in ("w", "first", "second"))
    project.write(".podium/config.yaml", f"agents: {{{agents}}}\nbreaker: {{retries: 1, ask: first}}\n")
    project.flow("  it: {agent: w, prompt: Do it, touches: [x], gates: [{run: ['false']}]}\n")

    assert code(call("run", "flow.yaml", "--sandbox", "none", *typed)) == 1

    events = project.events(project.store.heads()[0].run)
    (asked,) = [end for end in events if isinstance(end, AttemptEnded) and end.path.endswith("!advice")]
    assert (asked.result or {})["agent"] == advisor


@pytest.mark.req("R076")
def test_what_the_command_line_loosens_is_no_mistake_of_the_file_and_the_rest_still_is(
    project: Project,
) -> None:
    project.write(".podium/config.yaml", "limits: {usd: 1, calls: 5}\nsandbox: limits\n")
    steps = "  a: {run: [echo, x], sandbox: none}\n"
    project.flow(steps, head=HEAD + "limits: {usd: 5, calls: 9}\n")

    for typed, faults in (
        ((), {"usd", "calls", "sandbox"}),
        (("limits.usd=5",), {"calls", "sandbox"}),
        (("limits.usd=4",), {"usd", "calls", "sandbox"}),
        (("limits.usd=5", "limits.calls=9"), {"sandbox"}),
        (("limits.usd=5", "limits.calls=9", "sandbox=none"), set()),
    ):
        told = call("validate", "flow.yaml", *(word for each in typed for word in ("--set", each))).stdout
        assert {word for word in ("usd", "calls", "sandbox") if f"{word}: " in told} == faults


GOTO = """\
version: "1.0"
name: goto
context: {my-version: "1.0", Where: here}
steps:
  - {name: FirstStep, command: [echo, "${context.my-version} ${context.Where} ${context.folder}"]}
"""


@pytest.mark.req("R047", "R227")
@pytest.mark.parametrize("command", [("run", "goto.yaml"), ("run-step", "goto.yaml", "FirstStep")])
def test_a_file_of_another_format_is_spoken_to_in_its_own_names(
    project: Project, command: tuple[str, ...]
) -> None:
    """What is text there stays text: 1.10 is no number."""
    project.write("goto.yaml", GOTO)
    project.write("workspace/data.txt", "")
    project.write("more.json", '{"Where": "there"}')
    project.commit()
    given = ("--context", "my-version=1.10", "--context", "folder=src", "--context-file", "more.json")
    done = call(*command, *given, "--sandbox", "none", "--json")
    assert data(done)["steps"][0]["output"] == "1.10 there src"


@pytest.mark.req("R189")
@pytest.mark.parametrize("workspace", ["private", "inplace"])
def test_a_command_reads_an_artifact_of_an_earlier_step_wherever_it_works(
    project: Project, workspace: str
) -> None:
    make = "  a: {run: [echo, one], output: {file: a.txt}}\n"
    read = "  b: {run: [cat], stdin: [.podium/artifacts/a/a.txt, README.md]}\n"
    project.flow(make + read, head=f"{HEAD}workspace: {workspace}\n")

    done = call("run", "flow.yaml", "--sandbox", "none", "--json")

    assert data(done)["steps"][1]["output"].startswith("one")
