"""What is said to a run that stands: by whom it is heard, and what becomes of what cannot be followed."""

from __future__ import annotations

from contextlib import ExitStack

import anyio
import anyio.from_thread
import pytest

from podium.app.run.send import SendResult, send
from podium.attempt.host import Host
from podium.core.messages import Approve, Cancel, Pause
from podium.core.types import Address
from podium.engine.lease import lease
from podium.errors import ConfigurationError, PodiumError
from podium.ports.runtime import DefinitionChanged
from podium.runtime.commands import DONE
from tests.engine.kit import HEAD, Project, outcome


@pytest.mark.req("R039")
@pytest.mark.parametrize("drives", [True, False])
@pytest.mark.parametrize("text", [HEAD + 'steps:\n  ask: {human: "Go on now?"}\n', "{"])
def test_what_was_refused_as_the_definition_has_changed_is_not_followed_later(
    project: Project, text: str, drives: bool
) -> None:
    """A person who was told no does not expect the run to be cancelled the next day."""
    file = project.flow('  ask: {human: "Go on?"}\n')
    run, _ = project.run(file)
    before = file.read_text()
    for message in (Cancel("ann"), Approve(Address("ask"), "approve", "ann")):
        project.write("flow.yaml", text)
        with pytest.raises(PodiumError):
            project.say(run, message, drives=drives)
        assert project.store.commands(run) == ()

        project.write("flow.yaml", before)
        state = project.resume(run)

        assert (state.ended, state.cancelling, outcome(state, "ask")) == (None, False, "")


def test_who_is_refused_still_clears_away_what_a_dead_owner_left(project: Project) -> None:
    run, _ = project.run(project.flow('  ask: {human: "Go on?"}\n'))
    work = project.facade.paths.work_dir(run)
    work.mkdir(parents=True)
    project.write("flow.yaml", HEAD + 'steps:\n  ask: {human: "Go on now?"}\n')

    with pytest.raises(DefinitionChanged):
        project.say(run, Cancel("ann"))

    assert not work.exists()


def test_a_letter_is_left_to_whoever_owns_the_run_by_then(project: Project) -> None:
    """Its sender cannot carry the run on, but another process can, which may have read the letter already."""
    run, _ = project.run(project.flow('  ask: {human: "Go on?"}\n'))
    folder, owner = project.facade.paths.run_dir(run), ExitStack()

    heard: list[SendResult] = []

    async def both() -> None:
        owned = anyio.Event()

        def host_for(*_: object, **__: object) -> Host:
            owner.enter_context(lease(folder))
            anyio.from_thread.run_sync(owned.set)
            raise ConfigurationError("not on this machine")

        async def answers() -> None:
            await owned.wait()
            (command,) = project.store.commands(run)
            project.store.answer(command, DONE)

        project.facade.host_for = host_for
        async with anyio.create_task_group() as group:
            group.start_soon(answers)
            heard.append(await send(project.facade, run, Cancel("ann")))

    with owner:
        anyio.run(both)

    assert heard == [SendResult(None)]


@pytest.mark.req("R142", "R198")
def test_a_cancel_ends_a_paused_run_and_its_finally_runs(project: Project) -> None:
    head = HEAD + "finally:\n  note: {run: [echo, cleaned]}\n"
    run, _ = project.run(project.flow("  ask: {human: 'Go on?'}\n  work: {run: [echo, x]}\n", head=head))
    project.say(run, Pause("ann"))
    project.say(run, Approve(Address("ask"), "approve", "ann"))

    state = project.say(run, Cancel("ann")).state

    assert state is not None
    assert state.ended is not None
    assert (state.ended.status, outcome(state, "finally/note")) == ("cancelled", "passed")
