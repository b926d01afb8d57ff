"""The engine carries runs on: from the first message to the end, through parking, answers, signals and a crash."""

from __future__ import annotations

import json
import threading
import time
from datetime import datetime
from pathlib import Path

import anyio
import pytest

from podium.core.codec import decode
from podium.core.events import RunStarted, StepEnded, StepEntered, TimerFired
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import first_fault
from podium.core.messages import Approve, Cancel, Guide, Pause, Resume, Signal
from podium.core.types import Address
from podium.engine.lease import is_owned, lease
from podium.errors import ConfigurationError
from podium.ports.runtime import AlreadyOwned
from tests.engine.kit import HEAD, TEAM, Project, drive, git, outcome, output
from tests.timing import best_of


def test_commands_run_one_after_the_other_and_hand_on_what_they_say(project: Project) -> None:
    flow = project.flow(
        "  a: {run: [echo, hello]}\n"
        '  b: {run: [printf, "%s-%s", "${{ steps.a.output }}", again]}\n'
        "  c: {check: \"steps.b.output == 'hello-again'\"}\n"
    )

    run, state = project.run(flow)

    assert state.ended is not None
    assert (state.ended.status, state.ended.exit) == ("passed", 0)
    assert output(state, "b") == "hello-again"
    head = project.store.head(run)
    assert head is not None
    assert head.status == "passed"


@pytest.mark.req("C1")
def test_the_log_alone_gives_the_state_again_and_its_chain_is_whole(project: Project) -> None:
    """R145, R159"""
    begun = project.begin(project.flow("  a: {run: [echo, x]}\n  b: {run: [echo, y]}\n"))
    state = drive(project.facade, begun.run, park=True)

    records = project.store.read(begun.run)
    again = fold(begun.prepared.workflow, [decode(json.loads(record.body)) for record in records])

    assert first_fault(records) is None
    assert again == state._replace(root=again.root)
    outside = (project.facade.paths.run_dir(begun.run) / "chain_head").read_text("ascii").split()
    assert outside == [str(len(records)), records[-1].hash]


def test_a_failed_command_fails_the_run_and_finally_still_runs(project: Project) -> None:
    head = HEAD + "finally:\n  note: {run: [echo, cleaned]}\n"
    _, state = project.run(project.flow("  a: {run: ['false']}\n  b: {run: [echo, never]}\n", head=head))

    assert state.ended is not None
    assert (state.ended.status, state.ended.exit) == ("failed", 1)
    assert Address("b") not in state.instances
    assert outcome(state, "finally/note") == "passed"


def test_a_run_that_needs_a_person_parks_and_an_answer_carries_it_on(project: Project) -> None:
    """R155"""
    run, parked = project.run(project.flow('  ask: {human: "Go on?"}\n  a: {run: [echo, done]}\n'))
    head = project.store.head(run)

    heard = project.say(run, Approve(Address("ask"), "approve", "ann"))

    assert parked.ended is None
    assert head is not None
    assert head.status == "waiting"
    assert heard.state is not None
    assert heard.state.ended is not None
    assert heard.state.ended.status == "passed"


def test_a_rejection_by_a_person_ends_the_run_with_4(project: Project) -> None:
    run, _ = project.run(project.flow('  ask: {human: "Go on?"}\n'))

    heard = project.say(run, Approve(Address("ask"), "reject", "ann", "not yet"))

    assert heard.state is not None
    assert heard.state.ended is not None
    assert (heard.state.ended.status, heard.state.ended.exit) == ("rejected", 4)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (Approve(Address("other"), "approve", "ann"), "is not waiting"),
        (Approve(Address("ask"), "dance", "ann"), "choose from"),
        (Signal("ready"), "no step waits"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_the_reason(
    project: Project, message: Approve, why: str
) -> None:
    run, _ = project.run(project.flow('  ask: {human: "Go on?"}\n'))

    with pytest.raises(ConfigurationError, match=why):
        project.say(run, message)

    assert project.store.commands(run) == ()


def test_a_run_that_is_over_says_so_to_everybody(project: Project) -> None:
    run, _ = project.run(project.flow("  a: {run: [echo, x]}\n"))

    with pytest.raises(ConfigurationError, match="has ended: passed"):
        project.say(run, Cancel("ann"))

    assert project.store.commands(run) == ()


def test_a_signal_wakes_the_step_that_waits_for_it(project: Project) -> None:
    run, _ = project.run(
        project.flow("  w: {wait: {signal: ready}}\n  a: {run: [echo, '${{ steps.w.output.n }}']}\n")
    )

    heard = project.say(run, Signal("ready", {"n": 7}, "ann"))

    assert heard.state is not None
    assert output(heard.state, "a") == "7"


def test_timers_are_waited_for_in_the_process(project: Project) -> None:
    run, state = project.run(project.flow("  w: {wait: {timer: 1s}}\n  a: {run: [echo, x]}\n"))

    assert state.ended is not None
    assert state.ended.status == "passed"
    assert any(isinstance(event, TimerFired) for event in project.events(run))


def test_a_file_that_appears_ends_a_wait(project: Project) -> None:
    flow = project.flow("  w: {wait: {file: go.json}}\n  a: {check: steps.w.output.ok}\n")
    begun = project.begin(flow)
    threading.Timer(0.3, lambda: project.write("go.json", '{"ok": true}')).start()

    state = drive(project.facade, begun.run, park=True)

    assert state.ended is not None
    assert state.ended.status == "passed"


def test_an_answer_in_the_inbox_folder_counts(project: Project) -> None:
    """R193"""
    run, _ = project.run(project.flow('  ask: {human: "Which way?"}\n'))
    file = next((project.root / ".podium/inbox").iterdir())
    text = file.read_text("utf-8")

    file.write_text(
        text.replace("answer:\n", "answer: reject\n").replace("feedback:\n", "feedback: no tests\n")
    )
    state = project.resume(run)

    assert "Which way?" in text
    assert state.ended is not None
    assert state.ended.status == "rejected"
    assert list((project.root / ".podium/inbox").iterdir()) == []


def test_guidance_is_written_down_and_reaches_the_next_attempt(project: Project) -> None:
    """R198"""
    flow = project.flow('  ask: {human: "Go on?"}\n  a: {agent: w, prompt: Say something.}\n', head=TEAM)
    run, _ = project.run(flow)

    project.say(run, Guide("ann", "Be brief."), drives=False)
    project.say(run, Approve(Address("ask"), "approve", "ann"))

    prompt = next((project.facade.paths.run_dir(run) / "agent_logs/a/1").glob("prompt*")).read_text("utf-8")
    assert "Be brief." in prompt


def test_a_paused_run_starts_nothing_until_it_is_resumed(project: Project) -> None:
    run, _ = project.run(project.flow('  ask: {human: "Go on?"}\n  a: {run: [echo, x]}\n'))
    project.say(run, Pause("ann"))

    paused = project.say(run, Approve(Address("ask"), "approve", "ann")).state
    head = project.store.head(run)
    state = project.say(run, Resume("ann")).state

    assert paused is not None
    assert paused.ended is None
    assert Address("a") not in paused.instances or outcome(paused, "a") == ""
    assert head is not None
    assert head.status == "paused"
    assert state is not None
    assert state.ended is not None
    assert state.ended.status == "passed"


def test_a_cancelled_run_ends_its_processes_and_runs_finally(project: Project) -> None:
    """R142"""
    head = HEAD + "finally:\n  note: {run: [echo, cleaned]}\n"
    flow = project.flow("  a: {run: [sleep, '600']}\n", head=head)
    begun = project.begin(flow)
    started = threading.Event()
    other = project.other()

    def cancel() -> None:
        started.wait(60)
        other.say(begun.run, Cancel("ann", "enough"))

    thread = threading.Thread(target=cancel)
    thread.start()
    state = drive(
        project.facade, begun.run, park=True, on_turn=lambda log: started.set() if log.events else None
    )
    thread.join()

    assert state.ended is not None
    assert (state.ended.status, state.ended.exit) == ("cancelled", 130)
    assert outcome(state, "finally/note") == "passed"


@pytest.mark.req("C34")
def test_a_run_has_one_owner_and_a_second_is_told_who(project: Project) -> None:
    begun = project.begin(project.flow("  a: {run: [echo, x]}\n"))

    with lease(begun.host.run_dir), pytest.raises(AlreadyOwned, match=r"driven by process \d+"):
        drive(project.facade, begun.run, park=True)


def test_who_only_looks_whether_a_run_is_owned_keeps_nobody_from_owning_it(tmp_path: Path) -> None:
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_owned(tmp_path)

    onlookers = [threading.Thread(target=look) for _ in range(3)]
    for each in onlookers:
        each.start()
    try:
        for _ in range(200):
            with lease(tmp_path):
                pass
    finally:
        over.set()
        for each in onlookers:
            each.join()


@pytest.mark.req("R039")
def test_a_definition_that_has_changed_is_not_carried_on_unknowingly(project: Project) -> None:
    run, _ = project.run(project.flow('  ask: {human: "Go on?"}\n'))
    project.write("flow.yaml", HEAD + 'steps:\n  ask: {human: "Go on now?"}\n')

    with pytest.raises(ConfigurationError, match="has changed"):
        project.say(run, Approve(Address("ask"), "approve", "ann"))


def test_what_was_in_flight_when_the_owner_died_is_done_again_once(project: Project) -> None:
    """R146"""
    flow = project.flow("  a: {run: [echo, first]}\n  b: {run: [sleep, '0.2']}\n  c: {run: [echo, last]}\n")
    begun = project.begin(flow)

    async def die_in_b() -> None:
        with anyio.CancelScope() as scope:

            def look(log: object) -> None:
                if any(getattr(event, "path", "") == "b" for event in log.events):  # type: ignore[attr-defined]
                    scope.cancel()

            await project.facade.runtime.drive(begun.run, park=True, on_turn=look)

    anyio.run(die_in_b)
    state = project.resume(begun.run)

    assert state.ended is not None
    assert state.ended.status == "passed"
    ended = [event.path for event in project.events(begun.run) if isinstance(event, StepEnded)]
    assert sorted(ended) == ["", "a", "b", "c"]


@pytest.mark.req("R148", "C31")
def test_each_run_has_its_own_id_folder_state_and_logs(project: Project) -> None:
    flow = project.flow("  a: {agent: w, prompt: Do it, touches: []}\n", head=TEAM)
    began = datetime.now().astimezone().replace(microsecond=0)
    first, _ = project.run(flow)
    kept = _contents(project.facade.paths.run_dir(first))

    second, state = project.run(flow)

    assert first != second
    for run in (first, second):
        at = datetime.strptime(run.rpartition("-")[0], "%Y%m%d-%H%M%S").astimezone()
        assert began <= at <= datetime.now().astimezone(), "names are in the order of time"
    assert _contents(project.facade.paths.run_dir(first)) == kept
    assert _contents(project.facade.paths.run_dir(second)).keys() == kept.keys()
    assert state.started is not None
    assert state.started.run.id == second
    assert {"state.json", "agent_logs/a/1/prompt.md"} <= kept.keys()
    assert all(first not in text for text in _contents(project.facade.paths.run_dir(second)).values())


def _contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.req("R147")
def test_where_a_run_has_come_to_is_known_by_its_commit_its_trees_and_its_context(project: Project) -> None:
    """All of it is in the log, so that whoever carries the run on stands on the same ground."""
    head = HEAD + "inputs: {task: string}\n"
    make = (
        '{run: {script: "echo $T > new.txt", shell: sh}, env: ["T=${{ inputs.task }}"], touches: [new.txt]}'
    )
    file = project.flow(f'  make: {make}\n  ask: {{human: "Good?"}}\n', head=head)
    commit = git(project.root, "rev-parse", "HEAD")

    run, _ = project.run(file, {"task": "paint"})

    started, *rest = project.events(run)
    assert isinstance(started, RunStarted)
    assert (started.run.base, started.inputs) == (commit, {"task": "paint"})
    assert started.tree == git(project.root, "rev-parse", "HEAD^{tree}")
    trees = {str(event.path): event.start for event in rest if isinstance(event, StepEntered)}
    assert trees["make"] == started.tree
    assert git(project.root, "show", f"{trees['ask']}:new.txt") == "paint"


@pytest.mark.req("R240")
def test_a_hundred_steps_run_in_a_row(project: Project) -> None:
    steps = "".join(f"  s{n}: {{run: [echo, '{n}']}}\n" for n in range(100))

    _, state = project.run(project.flow(steps))

    assert state.ended is not None
    assert state.ended.status == "passed"
    assert [output(state, f"s{n}") for n in range(100)] == [str(n) for n in range(100)]


@pytest.mark.req("R240")
def test_five_steps_take_less_than_thirty_seconds(project: Project) -> None:
    file = project.flow("".join(f"  s{n}: {{run: [echo, '{n}']}}\n" for n in range(5)))

    def seconds(_: int) -> float:
        began = time.monotonic()
        assert outcome(project.run(file)[1], "s4") == "passed"
        return time.monotonic() - began

    best_of(3, seconds, under=30)
