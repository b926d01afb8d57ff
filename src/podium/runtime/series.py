"""The next run of a series: what it starts with, as a pure function of the run that ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from podium.core.addresses import ROOT
from podium.core.decide.series import continuation, number_of_run
from podium.core.events import Event
from podium.core.hash_chain import RunId
from podium.core.messages import Start
from podium.core.model import Call, Workflow
from podium.core.payloads import Amounts, RunFacts, Series
from podium.core.state import Scope, State
from podium.core.types import MicroUsd, Millis
from podium.runtime.carried_budget import carried

START_REF = "start"
"""The ref of a continued run that keeps the tree it starts from."""


def next_start(state: State, events: Sequence[Event], last_hash: str) -> tuple[RunId, Start]:
    """The name of the next run and the command that starts it.

    `events` is the whole log; `last_hash` is that of its last event.
    """
    started, ended, ending = state.started, state.ended, continuation(state)
    assert started is not None
    assert ended is not None
    assert ending is not None
    root, verb = state.instances[ROOT], state.root.verb
    assert isinstance(root, Scope)
    assert isinstance(verb, Call)
    workflow = verb.workflow
    used = carried(workflow, events)
    facts = replace(
        started.run,
        id=ended.continued_by,
        date=_date(ended.at, started.run),
        continues="",
        **(used if workflow.limits.per == "series" else _NOTHING),
        reused=(),
        reusable=(),
        guidance=(),
        open_guidance=state.guidance,
        unpriced=tuple(dict.fromkeys((*started.run.unpriced, *state.unpriced))),
        rebase=None,
        base=started.run.base if state.rebased is None else state.rebased.rebase.commit,
        series=_series(state, workflow, used, last_hash),
    )
    inputs = (ending.result or {})["output"]
    return RunId(ended.continued_by), Start(facts, inputs, started.env, root.head, started.no_human)


_NOTHING: dict[str, Any] = {
    "carried": Amounts(),
    "carried_unknown": MicroUsd(0),
    "carried_time": Millis(0),
    "carried_steps": (),
}


def _series(state: State, workflow: Workflow, used: dict[str, Any], last_hash: str) -> Series:
    # Imported here: most runs are not continued, and it brings what gates and landings need.
    from podium.tasks.landings import carried_landings, fork_of

    started = state.started
    assert started is not None
    run, before = started.run, started.run.series
    spent, unknown, time = used["carried"], used["carried_unknown"], used["carried_time"]
    if before is not None and workflow.limits.per == "run":
        # The ledger of this run began at zero, so that of the series is kept apart.
        spent = Amounts(
            MicroUsd(before.spent.usd + spent.usd),
            before.spent.tokens + spent.tokens,
            before.spent.calls + spent.calls,
        )
        unknown, time = MicroUsd(before.unknown + unknown), Millis(before.time + time)
    return Series(
        first=run.id if before is None else before.first,
        number=number_of_run(run) + 1,
        previous=run.id,
        previous_hash=last_hash,
        spent=spent,
        unknown=unknown,
        time=time,
        fork=fork_of(started) if state.rebased is None else state.rebased.rebase.onto,
        landings=carried_landings(state),
    )


def _date(at: Millis, run: RunFacts) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC) + timedelta(minutes=run.utc_offset):%Y-%m-%d}"
