"""What runs do in the world: repositories, clones, people, secrets, adapters that break."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from podium.core.events import AttemptEnded
from podium.core.types import Address
from podium.errors import ConfigurationError
from podium.ports.runtime import ManualWorkDone
from tests.engine.kit import HEAD, TEAM, Project, drive, git, outcome, output
from tests.installed import agent


def test_a_scripted_agent_is_retried_with_the_output_of_the_real_gate(project: Project) -> None:
    """R113"""
    flow = project.flow(
        '  make:\n    agent: w\n    prompt: "Write it. {{ feedback }}"\n    touches: [made.txt]\n'
        "    gates: [{name: right, run: [grep, -n, right, made.txt]}]\n",
        head=TEAM,
        cast='- match: {step: make, attempt: 1}\n  write: {made.txt: "wrong\\n"}\n'
        '- match: {step: make}\n  write: {made.txt: "right\\n"}\n',
    )

    run, state = project.run(flow)

    assert state.ended is not None
    assert state.ended.status == "passed"
    attempts = [
        event for event in project.events(run) if isinstance(event, AttemptEnded) and event.path == "make"
    ]
    assert len(attempts) == 2
    prompt = next((project.facade.paths.run_dir(run) / "agent_logs/make/2").glob("prompt*")).read_text(
        "utf-8"
    )
    assert "grep" in prompt
    assert git(project.root, "status", "--porcelain") == ""


def test_a_bug_in_an_adapter_is_an_error_of_its_step_and_is_noted(project: Project) -> None:
    class Broken:
        def prepare(self, request: object) -> object:
            raise ZeroDivisionError("a bug")

    flow = project.flow(
        "  a: {agent: w, prompt: x}\n", head=HEAD + "agents:\n  w: {type: scripted, script: cast.yaml}\n"
    )
    begun = project.begin(flow)
    broken = {"scripted": agent("scripted", Broken())}  # type: ignore[arg-type]
    project.facade.prepared[begun.run] = replace(begun.prepared, host=replace(begun.host, agents=broken))

    state = drive(project.facade, begun.run, park=True)

    assert state.ended is not None
    assert state.ended.status == "failed"
    assert outcome(state, "a") == "error"
    assert "ZeroDivisionError" in (begun.host.run_dir / "internal_errors.log").read_text("utf-8")


def test_without_a_repository_steps_work_in_the_folder_itself(folder: Project) -> None:
    flow = folder.flow('  a: {run: {script: "echo made > made.txt", shell: bash}, touches: [made.txt]}\n')

    _, state = folder.run(flow)

    assert state.ended is not None
    assert state.ended.status == "passed"
    assert (folder.root / "made.txt").read_text("utf-8") == "made\n"


def test_parallel_members_are_joined_and_land_as_one_commit(project: Project) -> None:
    flow = project.flow(
        "  both:\n    parallel: true\n    steps:\n"
        '      a: {run: {script: "echo a > a.txt", shell: bash}, touches: [a.txt]}\n'
        '      b: {run: {script: "echo b > b.txt", shell: bash}, touches: [b.txt]}\n'
        "  land: {git: {land: main, message: Both}}\n"
    )
    before = git(project.root, "rev-list", "--count", "main")

    _, state = project.run(flow)

    assert state.ended is not None
    assert state.ended.status == "passed"
    assert int(git(project.root, "rev-list", "--count", "main")) == int(before) + 1
    assert git(project.root, "show", "--name-only", "--format=%s", "main").split() == [
        "Both",
        "a.txt",
        "b.txt",
    ]
    assert (project.root / "a.txt").exists()


def test_a_person_does_a_step_by_hand_in_a_clone(project: Project) -> None:
    """R006"""
    flow = project.flow(
        "  paint: {agent: human, prompt: Paint it., touches: [art.txt]}\n  look: {run: [cat, art.txt]}\n"
    )
    run, parked = project.run(flow)
    place = project.facade.paths.run_dir(run) / "by_hand/paint/1"
    (place / "work/art.txt").write_text("blue\n", "utf-8")

    state = project.say(run, ManualWorkDone(Address("paint"), "ann", "It is blue.")).state

    assert parked.ended is None
    assert "Paint it." in (place / "TASK.md").read_text("utf-8")
    assert state is not None
    assert state.ended is not None
    assert state.ended.status == "passed"
    assert output(state, "look") == "blue"


def test_only_declared_secrets_reach_a_step_and_none_reach_the_records(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R184, R185"""
    monkeypatch.setenv("TOKEN", "s3cret-value-1234")
    monkeypatch.setenv("OTHER", "unrelated")
    head = HEAD + "secrets: [TOKEN]\n"
    flow = project.flow(
        '  a: {run: {script: "echo token=$TOKEN other=$OTHER", shell: bash}, secrets: [TOKEN]}\n'
        '  b: {run: {script: "echo token=$TOKEN", shell: bash}}\n',
        head=head,
    )

    run, state = project.run(flow)

    assert output(state, "a") == "token=*** other="
    assert output(state, "b") == "token="
    stored = [path for path in (project.root / ".podium").rglob("*") if path.is_file()]
    assert not [path for path in stored if b"s3cret-value-1234" in path.read_bytes()]
    assert project.view(run).status == "passed"


def test_a_secret_without_a_value_is_said_before_anything_starts(project: Project) -> None:
    flow = project.flow(
        "  a: {run: [echo, x], secrets: [NO_SUCH_TOKEN]}\n", head=HEAD + "secrets: [NO_SUCH_TOKEN]\n"
    )

    with pytest.raises(ConfigurationError, match="NO_SUCH_TOKEN"):
        project.run(flow)

    assert project.store.heads() == ()


def test_uncommitted_files_are_named_and_taken_along_only_if_asked(project: Project, tmp_path: Path) -> None:
    flow = project.flow("  a: {run: [ls]}\n")
    project.write("draft.txt", "mine\n")

    plain = project.begin(flow)
    _, dirty = project.run(flow, dirty=True)
    clean = drive(project.facade, plain.run, park=True)

    assert plain.uncommitted == ("draft.txt",)
    assert "draft.txt" not in str(output(clean, "a"))
    assert "draft.txt" in str(output(dirty, "a"))


def test_the_artifact_of_a_step_that_passed_is_published_and_lent_to_later_steps(project: Project) -> None:
    """R154"""
    flow = project.flow(
        "  say: {run: [echo, hello], output: {file: greeting.txt}}\n"
        "  read: {run: [cat, .podium/artifacts/say/greeting.txt]}\n"
    )

    run, state = project.run(flow)

    assert output(state, "read") == "hello"
    assert (project.facade.paths.run_dir(run) / "artifacts/say/greeting.txt").read_text(
        "utf-8"
    ).strip() == "hello"


@pytest.mark.req("R172")
def test_a_run_can_wait_for_a_step_of_another_workflow(project: Project) -> None:
    first = project.write("first.yaml", "podium: 1\nname: first\nsteps:\n  build: {run: [echo, built]}\n")
    second = project.flow("  w: {wait: {step: first/build}, timeout: 1m}\n  a: {run: [echo, after]}\n")
    project.run(first)

    _, state = project.run(second)

    assert state.ended is not None
    assert state.ended.status == "passed"


@pytest.mark.req("R215")
def test_the_summary_has_tokens_cost_phases_scores_and_the_conclusion(project: Project) -> None:
    steps = (
        "  draft: {agent: w, prompt: Write it, touches: [a.txt]}\n"
        "  audit: {review: [w], of: draft}\n"
        "  land: {git: {land: main, message: done}}\n"
    )
    cast = (
        "- {match: {step: draft}, write: {a.txt: a}, cost_usd: 0.5, usage: {input: 1200, output: 30}}\n"
        "- {match: {step: audit/w}, verdict: {decision: approve, score: 8}, cost_usd: 0.25, usage: {input: 800}}\n"
    )
    run, _ = project.run(project.flow(steps, head=TEAM, cast=cast))

    summary = (project.facade.paths.run_dir(run) / "run_summary.md").read_text("utf-8")
    for words in (
        "# flow: passed",
        "| `draft` | passed | 1 |",
        "| `audit/w` | approve | 8 |",
        "$0.75, 2,030 tokens in 2 agent calls.",
        "| w |  | 2 | 2,000 | 0 | 30 | $0.75 |",
        "- `land` committed ",
    ):
        assert words in summary, summary


@pytest.mark.req("R204")
def test_agents_that_run_at_once_see_nothing_of_each_other_and_later_ones_see_it_all(
    project: Project, tmp_path: Path
) -> None:
    """Each says that it is at work, waits until the other does, and only then looks round."""
    meet = 'echo x > $1.txt; touch "$3/$1"; until test -e "$3/$2"; do sleep 0.05; done; ls'
    agents = "".join(
        f"  {own}:\n    type: command\n    price: {{input: 0, output: 0, date: '2026-01-01'}}\n"
        f"    command: [sh, -c, '{meet}', sh, {own}, {other}, '{tmp_path}']\n"
        for own, other in (("ann", "bob"), ("bob", "ann"))
    )
    steps = (
        "  both:\n    parallel: 2\n    steps:\n"
        "      a: {agent: ann, prompt: x, touches: [ann.txt]}\n"
        "      b: {agent: bob, prompt: x, touches: [bob.txt]}\n"
        "  after: {run: [ls]}\n"
    )
    _, state = project.run(project.flow(steps, head=HEAD + f"agents:\n{agents}"))

    seen = [str(output(state, path)).split() for path in ("both/a", "both/b", "after")]
    met = [{"ann.txt", "bob.txt"} & set(names) for names in seen]
    assert met == [{"ann.txt"}, {"bob.txt"}, {"ann.txt", "bob.txt"}]
