"""The next run of a series: what it starts with, and how its objects reach the exchange under its own name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from anyio import to_thread
from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from podium.core.events import Event
from podium.core.hash_chain import RunId
from podium.core.state import State
from podium.fast_dataclass import replace
from podium.git.exchange import ExchangeFault, bring, hand_over
from podium.runtime.commands import encode_command
from podium.runtime.series import next_start
from podium.tasks.run_context import RunContext
from podium.tasks.task_json import decode, encode
from podium.temporal.protocol import CARRY_ON, EXCHANGE, QUEUE, RunInput
from podium.temporal.run_hosts import RunHosts, named

HAND_ON_TIME = timedelta(minutes=10)


def next_input(parameters: RunInput, state: State, events: Sequence[Event], last_hash: str) -> RunInput:
    """The start of the run that continues this one."""
    run, start = next_start(state, events, last_hash)
    context = decode(RunContext, parameters["context"])
    following = dict(parameters)
    following.update(
        run=run,
        context=encode(replace(context, id=run, base_commit=start.run.base or None)),
        start=dict(encode_command(start)),
        turns=[],
        replies={},
        files=[],
        deliveries=0,
    )
    return following  # type: ignore[return-value]  # the same keys


async def hand_on(run: RunId, following: RunInput) -> None:
    """Let a worker hand over what the next run starts from; it is tried until the exchange has it."""
    await workflow.execute_activity(
        CARRY_ON,
        {
            "from": run,
            "to": following["run"],
            "exchange": following["exchange"],
            "names": sorted(set(named(following["start"]))),
        },
        task_queue=QUEUE,
        start_to_close_timeout=HAND_ON_TIME,
        retry_policy=RetryPolicy(maximum_interval=timedelta(seconds=30)),
    )


class CarryOn:
    """The activity of a worker that gives the objects of one run to the next."""

    def __init__(self, runs: RunHosts) -> None:
        self._runs = runs

    @activity.defn(name=CARRY_ON)
    async def carry_on(self, request: dict[str, Any]) -> None:
        await to_thread.run_sync(self._carry_on, request)

    def _carry_on(self, request: dict[str, Any]) -> None:
        url = request["exchange"]
        try:
            git = self._runs.clone_of(url)
            bring(git, url, request["from"])
            hand_over(git, url, request["to"], request["names"])
        except ExchangeFault as error:
            raise ApplicationError(error.message, type=EXCHANGE) from error
