"""Runs in other repositories that steps of a run here want: each is started, driven and cancelled like any run there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from podium.app.query.runs import ENDED
from podium.app.run.drive import drive
from podium.app.run.send import send
from podium.app.run.start import RunRequest, start_run
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel
from podium.core.payloads import Amounts
from podium.core.types import MicroUsd
from podium.errors import ConfigurationError
from podium.ports.child_runs import ChildEnd, ChildOrder
from podium.ports.runtime import AlreadyOwned, DrivenRun, OnTurn
from podium.runtime.records import events_of
from podium.runtime.status import status_of
from podium.views.run.builder import run_view
from podium.views.run.view import RunView

if TYPE_CHECKING:
    from podium.app.project import Project

LOOK_S: Final = 0.5
"""How often a run is looked at that another process drives, or that is paused."""
CANCEL: Final = "the step of another run that had started it was cancelled"


class OtherProjectRuns:
    """For the steps of one run; `sandbox` is the level that its user typed."""

    def __init__(
        self, project: Project, sandbox: str | None, *, open_other: Callable[[Path], Project]
    ) -> None:
        self._project = project
        self._sandbox = sandbox
        self._open = open_other

    async def run(self, order: ChildOrder, tell: Callable[[str], None]) -> ChildEnd:
        other = self._open(order.folder)
        try:
            run = RunId(order.name)
            if other.runtime.head(run) is None:
                # In a thread: it calls git, and may try gates on the base.
                await to_thread.run_sync(self._start, other, order)
            tell(f"run {run} in {order.folder.name}")
            return await _driven(self._project, other, run, _Teller(tell, order).on_turn)
        finally:
            other.close()

    async def cancel(self, order: ChildOrder) -> ChildEnd | None:
        other = self._open(order.folder)
        try:
            run = RunId(order.name)
            head = other.runtime.head(run)
            if head is None:
                return None
            if head.status not in ENDED:
                await send(other, run, Cancel(f"run {order.parent}", CANCEL), park=False, signals=False)
            return await _driven(self._project, other, run, None)
        finally:
            other.close()

    def _start(self, other: Project, order: ChildOrder) -> None:
        definition = other.load(order.folder / order.file, settings=_settings(order))
        request = RunRequest(
            definition=definition,
            inputs=order.inputs,
            no_human=order.no_human,
            sandbox=self._sandbox,
            note=f"for run {order.parent}",
        )
        start_run(other, request, run=RunId(order.name))


def _settings(order: ChildOrder) -> Mapping[str, Any]:
    """The limits of the run, which are at most those of its file."""
    limits = order.limits
    most = {"usd": limits.usd / 1_000_000, "tokens": limits.tokens, "calls": limits.calls}
    limits_set = {unit: amount for unit, amount in most.items() if amount}
    return {"limits": limits_set} if limits_set else {}


async def _driven(project: Project, other: Project, run: RunId, on_turn: OnTurn | None) -> ChildEnd:
    """Drive the run until it has ended; while another process drives it, or it is paused, wait."""
    while (head := other.runtime.head(run)) is not None and head.status not in ENDED:
        if not other.runtime.is_owned(run) and head.status != "paused":
            with suppress(AlreadyOwned):
                observer = project.accompany(other, run)
                if on_turn is not None:
                    observer = observer._replace(on_turn=_both(observer.on_turn, on_turn))
                await drive(other, run, park=False, observer=observer, signals=False)
                continue
        await anyio.sleep(LOOK_S)
    if head is None:
        raise ConfigurationError(f"run {run} was deleted in {other.root.name} while its step was waiting")
    return _end_of(run_view(events_of(other.runtime.events(run))))


def _end_of(view: RunView) -> ChildEnd:
    # With what stays booked for calls without a price.
    counted = next((limit.used for limit in view.limits if limit.unit == "usd"), 0)
    usd = max(view.usd, round(counted * 1_000_000))
    return ChildEnd(
        status=view.status,
        outcome=view.outcome or "",
        reason=view.reason,
        outputs=dict(view.outputs),
        message=view.message or view.why,
        used=Amounts(MicroUsd(usd), view.tokens, view.calls),
    )


class _Teller:
    """Says once that the run waits for a person, each time it begins to."""

    def __init__(self, tell: Callable[[str], None], order: ChildOrder) -> None:
        self._tell = tell
        self._order = order
        self._waits = False

    def on_turn(self, driven: DrivenRun) -> None:
        waits = status_of(driven.state) == "waiting"
        if waits and not self._waits:
            order = self._order
            self._tell(f"run {order.name} waits for a person: podium inbox, in {order.folder.name}")
        self._waits = waits


def _both(first: OnTurn | None, second: OnTurn) -> OnTurn:
    if first is None:
        return second

    def call(driven: DrivenRun) -> None:
        first(driven)
        second(driven)

    return call
