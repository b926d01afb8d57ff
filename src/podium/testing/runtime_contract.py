"""The contract of runtimes: subclass it and define `make`; pytest runs the suite."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import anyio

from podium.core.hash_chain import RunId, first_fault
from podium.core.messages import Approve, Cancel, Command, Pause, Refusal, Resume, Signal
from podium.core.types import Address
from podium.ports.runtime import Accepted, DrivenRun, NoOwner, Reply, Runtime

COMMAND = "  work: {run: [echo, done]}\n"
QUESTION = '  ask: {human: "Good?"}\n'
DEADLINE_S = 60.0


class RuntimeContract:
    def make(self, steps: str) -> tuple[Runtime, RunId]:
        """A new run of a workflow with these steps, which nobody has driven yet."""
        raise NotImplementedError

    def started(self, steps: str) -> tuple[Runtime, RunId]:
        """A run that has been driven until it ended or waits."""
        runtime, run = self.make(steps)
        drive(runtime, run)
        return runtime, run

    def test_a_driven_run_ends_and_its_log_is_whole(self) -> None:
        runtime, run = self.make(COMMAND)

        state = drive(runtime, run)

        assert (state.ended and state.ended.status) == "passed"
        records = runtime.checked_events(run)
        assert first_fault(records) is None
        assert [records[0].type, records[-1].type] == ["RunStarted", "RunEnded"]
        head, check = runtime.head(run), runtime.verify(run)
        assert head is not None
        assert (head.status, head.last_seq, head.last_hash) == ("passed", len(records), records[-1].hash)
        assert (check.fault, check.compared, check.last_hash) == (None, True, records[-1].hash)

    def test_events_are_read_from_any_number_on(self) -> None:
        runtime, run = self.started(COMMAND)
        records = runtime.events(run)

        assert runtime.events(run, after=3) == records[3:]
        assert runtime.events(run, after=len(records)) == ()

    def test_the_driver_sees_every_event_once_and_in_order(self) -> None:
        runtime, run = self.make(COMMAND)
        counts: list[int] = []

        def on_turn(driven: DrivenRun) -> None:
            counts.append(len(driven.events))

        anyio.run(partial(runtime.drive, run, park=True, on_turn=on_turn))

        assert counts == sorted(counts)
        assert counts[-1] == len(runtime.events(run))

    def test_a_question_releases_the_driver_and_an_answer_continues_the_run(self) -> None:
        runtime, run = self.started(QUESTION + COMMAND)
        assert kinds(runtime, run)[-1] == "ApprovalAsked"
        head = runtime.head(run)
        assert head is not None
        assert head.status == "waiting"

        assert isinstance(follow(runtime, run, Approve(Address("ask"), "approve", "ann")), Accepted)

        assert kinds(runtime, run)[-1] == "RunEnded"

    def test_the_same_key_is_one_command(self) -> None:
        runtime, run = self.started(QUESTION + QUESTION.replace("ask", "more"))
        for _ in range(3):
            follow(runtime, run, Approve(Address("ask"), "approve", "ann"), key="same")

        assert kinds(runtime, run).count("ApprovalGiven") == 1

    def test_a_command_that_cannot_be_followed_is_refused_with_a_reason(self) -> None:
        runtime, run = self.started(QUESTION)

        reply = follow(runtime, run, Approve(Address("nothing"), "approve", "ann"))

        assert isinstance(reply, Refusal)
        assert "nothing" in reply.message
        assert "ApprovalGiven" not in kinds(runtime, run)

    def test_a_command_to_a_run_that_has_ended_is_not_followed(self) -> None:
        runtime, run = self.started(COMMAND)
        before = runtime.events(run)

        assert not isinstance(anyio.run(partial(runtime.send, run, Pause("ann"), key="late")), Accepted)

        assert runtime.events(run) == before

    def test_a_signal_ends_a_wait_and_brings_its_data(self) -> None:
        runtime, run = self.started("  gate: {wait: {signal: go}}\n")

        assert isinstance(follow(runtime, run, Signal("go", {"b": 1, "a": 2}, "ann")), Accepted)

        data = next(json.loads(each.body) for each in runtime.events(run) if each.type == "SignalReceived")
        assert json.dumps(data["data"]) == '{"b": 1, "a": 2}'
        assert kinds(runtime, run)[-1] == "RunEnded"

    def test_a_paused_run_starts_nothing_until_it_resumes(self) -> None:
        runtime, run = self.started(QUESTION + COMMAND)
        follow(runtime, run, Pause("ann"))
        follow(runtime, run, Approve(Address("ask"), "approve", "ann"))
        assert "AttemptStarted" not in kinds(runtime, run)

        follow(runtime, run, Resume("ann"))
        drive(runtime, run)

        assert kinds(runtime, run)[-1] == "RunEnded"

    def test_a_cancelled_run_ends_as_cancelled(self) -> None:
        runtime, run = self.started(QUESTION)

        assert isinstance(follow(runtime, run, Cancel("ann", "enough")), Accepted)

        head = runtime.head(run)
        assert head is not None
        assert head.status == "cancelled"

    def test_a_timer_continues_the_run(self) -> None:
        runtime, run = self.started("  pause: {wait: {timer: 1s}}\n" + COMMAND)
        events = [json.loads(record.body) for record in runtime.events(run)]
        fired = next(event for event in events if event["type"] == "TimerFired")

        assert fired["at"] >= fired["due"]
        assert events[-1]["status"] == "passed"

    def test_parallel_work_is_joined(self) -> None:
        block = "  sides:\n    parallel: 2\n    steps:\n"
        for name in ("left", "right"):
            block += f'      {name}: {{run: {{script: "echo {name} > {name}"}}, touches: [{name}]}}\n'
        runtime, run = self.started(block + "  both: {run: [cat, left, right]}\n")

        ends = [json.loads(each.body) for each in runtime.events(run) if each.type == "AttemptEnded"]
        assert next(end["result"]["text"] for end in ends if end["path"] == "both") == "left\nright\n"

    def test_waiting_for_an_event_returns_when_there_is_one(self) -> None:
        runtime, run = self.started(COMMAND)

        async def wait() -> None:
            with anyio.fail_after(DEADLINE_S):
                await runtime.wait(run, after=1)

        anyio.run(wait)


def drive(runtime: Runtime, run: RunId) -> Any:
    async def until_it_rests() -> Any:
        with anyio.fail_after(DEADLINE_S):
            return await runtime.drive(run, park=True)

    return anyio.run(until_it_rests)


def follow(runtime: Runtime, run: RunId, command: Command, *, key: str = "") -> Reply:
    """Send a command, and be the driver if the run has none; the reply of the run."""
    name = key or f"{type(command).__name__}-{len(runtime.events(run))}"

    async def send() -> Reply:
        with anyio.fail_after(DEADLINE_S):
            reply = await runtime.send(run, command, key=name)
            if not isinstance(reply, NoOwner):
                if not isinstance(command, Pause):
                    await runtime.drive(run, park=True)
                return reply
            await runtime.drive(run, park=True)
            return await runtime.send(run, command, key=name)

    return anyio.run(send)


def kinds(runtime: Runtime, run: RunId) -> list[str]:
    return [record.type for record in runtime.events(run)]
