"""The runtime of one machine: what becomes of a command with and without an owner, and what others see of a run."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Cancel, Guide, Refusal, Signal
from podium.core.types import Address
from podium.ports.runtime import Accepted, AlreadyOwned, DrivenRun, NoOwner, Reply, RunCommand, Runtime
from podium.runtime.records import events_of
from tests.engine.kit import Project

ASK = '  ask: {human: "Go on?"}\n'
YES = Approve(Address("ask"), "approve", "ann")


@pytest.fixture
def run(project: Project) -> RunId:
    """A run that waits for an answer and has no owner."""
    return project.run(project.flow(ASK))[0]


def send(project: Project, run: RunId, command: RunCommand, key: str = "k") -> Reply:
    return anyio.run(partial(project.facade.runtime.send, run, command, key=key))


def test_a_command_to_a_run_without_an_owner_stays_queued_and_is_sent_once(
    project: Project, run: RunId
) -> None:
    assert [send(project, run, YES), send(project, run, YES)] == [NoOwner(), NoOwner()]
    assert len(project.store.commands(run)) == 1

    state = project.resume(run)

    assert state.ended is not None
    assert state.ended.status == "passed"
    assert send(project, run, YES) == Accepted()


def test_a_withdrawn_command_is_not_followed(project: Project, run: RunId) -> None:
    runtime = project.facade.runtime
    send(project, run, YES)

    assert runtime.withdraw(run, "k")
    assert project.resume(run).ended is None
    reply = send(project, run, YES)
    assert isinstance(reply, Refusal)
    assert "withdrawn" in reply.message


def test_a_command_that_its_owner_has_read_cannot_be_withdrawn(project: Project, run: RunId) -> None:
    send(project, run, YES)
    with project.other().facade.runtime.reserve(run):
        assert not project.facade.runtime.withdraw(run, "k")

    project.resume(run)

    assert not project.facade.runtime.withdraw(run, "k")


@pytest.mark.parametrize(
    ("command", "expected"),
    [(YES, Accepted()), (Cancel("ann"), Accepted()), (Signal("absent"), "absent")],
)
def test_the_owner_replies_to_a_command(
    project: Project, run: RunId, command: RunCommand, expected: object
) -> None:
    """The sender may be in the same event loop as the driver, as at a terminal."""
    other: Runtime = project.other().facade.runtime
    replies: list[Reply] = []
    seen: dict[str, Reply] = {}

    async def both() -> None:
        driven = anyio.Event()

        def on_turn(progress: DrivenRun) -> None:
            seen.update(progress.replies)
            driven.set()

        async with anyio.create_task_group() as group:
            group.start_soon(partial(project.facade.runtime.drive, run, park=False, on_turn=on_turn))
            await driven.wait()
            replies.append(await other.send(run, command, key="k"))
            group.cancel_scope.cancel()

    anyio.run(both)

    (reply,) = replies
    if isinstance(expected, str):
        assert isinstance(reply, Refusal)
        assert expected in reply.message
    else:
        assert reply == expected == seen["k"]


def test_guidance_is_recorded_at_once_when_there_is_no_owner(project: Project, run: RunId) -> None:
    before = len(project.events(run))

    assert send(project, run, Guide("ann", "Be brief.")) == Accepted()

    assert [type(event).__name__ for event in project.events(run)[before:]] == ["GuidanceGiven"]


def test_a_run_that_is_reserved_is_not_driven(project: Project, run: RunId) -> None:
    with project.other().facade.runtime.reserve(run):
        assert project.facade.runtime.is_owned(run)
        with pytest.raises(AlreadyOwned, match=r"driven by process \d+"):
            project.resume(run)
    assert not project.facade.runtime.is_owned(run)


def test_waiting_ends_with_the_next_event(project: Project, run: RunId) -> None:
    runtime = project.facade.runtime
    known = len(project.events(run))

    async def both() -> list[str]:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(project.other().facade.runtime.send, run, Guide("ann", "x"), key="g"))
            with anyio.fail_after(60):
                await runtime.wait(run, after=known)
        return [type(event).__name__ for event in events_of(runtime.events(run, after=known))]

    assert anyio.run(both) == ["GuidanceGiven"]


def test_waiting_for_a_run_that_is_gone_ends(project: Project, run: RunId) -> None:
    project.facade.runtime.forget(run)

    async def wait() -> None:
        with anyio.fail_after(60):
            await project.facade.runtime.wait(run, after=99)

    anyio.run(wait)
    assert project.facade.runtime.head(run) is None


def test_what_an_owner_would_read_first_is_counted(project: Project, run: RunId) -> None:
    runtime = project.facade.runtime
    (file,) = (project.facade.paths.state_dir / "inbox").glob(f"{run}+*.yaml")
    assert (runtime.unread(run).commands, runtime.unread(run).answers) == (0, frozenset())

    project.store.post(run, "k", {"say": "pause", "by": "ann"})
    file.write_text(file.read_text("utf-8").replace("answer:", "answer: approve"), "utf-8")

    unread = runtime.unread(run)
    assert unread.commands == 1
    assert [name for name, _, _ in unread.answers] == [str(file)]
