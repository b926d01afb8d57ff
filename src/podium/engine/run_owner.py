"""Carries one run on in this process: takes it over, cleans up after a crash, drives it, and keeps its records."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import anyio

from podium.attempt.site import Site
from podium.attempt.workspace import workspace
from podium.core.addresses import without_visit
from podium.core.hash_chain import RunId
from podium.core.messages import Message, Recover, Start
from podium.core.payloads import RunFacts
from podium.core.state import State
from podium.engine.lease import lease
from podium.engine.log import Log, open_log
from podium.engine.loop import Park, RunLoop, publish_passed
from podium.engine.run_folder import RunFolder
from podium.git.repository import clear_locks
from podium.ports.exporter import RunExporter
from podium.ports.store import Store, StoreError
from podium.process.sweep import sweep
from podium.runtime.commands import decode_command
from podium.runtime.question_text import question_renderer
from podium.runtime.records import read_records

RECORD_S: Final = 0.5
"""How far the files that people look at may be behind the log."""


async def drive_run(
    store: Store,
    site: Site,
    *first: Message,
    park: Park,
    on_turn: Callable[[Log], None] | None = None,
    exporters: Sequence[RunExporter] = (),
) -> State:
    """Until it has ended, or stands. How it starts is in its letters; `first` is said to it besides.

    With `park` the process lets go of a run that only a person or a signal can move on; with "clock" also of one that
    only has to wait for a time.
    """
    with lease(site.run_dir):
        head = store.head(site.run)
        if head is not None and head.last_seq:
            # First of all: a run that cannot be carried on, as its file was changed, must not leave anything either.
            await clean_up(site)
        log = open_log(store, site.run, site.workflow, site.run_dir)
        try:
            if log.state.ended is not None:
                # Its owner may have died between the last event and the last of its records.
                publish_passed(site, log.events)
                await _write(_records(site, exporters), log)
                for letter in store.letters(site.run):
                    store.answer(letter, f"run {site.run} has ended: {log.state.ended.status}")
                return log.state
            facts = _facts(store, log)
            if log.events:
                first = (Recover(log.epoch), *first)
            site = replace(
                site,
                context=replace(site.context, base_commit=facts.base or None),
                passed_steps=partial(has_passed, store, site.run),
            )
            loop = RunLoop(log, site, store, park=park, on_turn=on_turn, exporters=exporters)
            return await _drive(loop, log, site, _records(site, exporters), first)
        finally:
            log.close()


def has_passed(store: Store, run: RunId, workflow: str, step: str) -> bool:
    """Whether a step has passed in the newest other run of a workflow, both by name."""
    newest = next((head for head in store.heads() if head.workflow == workflow and head.run != run), None)
    if newest is None:
        return False
    ended = (
        json.loads(record.body) for record in read_records(store, newest.run) if record.type == "StepEnded"
    )
    outcomes = [event["outcome"] for event in ended if without_visit(event["path"]) == step]
    return bool(outcomes) and outcomes[-1] == "passed"


def _facts(store: Store, log: Log) -> RunFacts:
    """What the run stands on; before its first event that is known only from the letter that will start it."""
    if log.state.started is not None:
        return log.state.started.run
    for letter in store.letters(log.run):
        said = decode_command(letter)
        if isinstance(said, Start):
            return said.run
    raise StoreError(f"run {log.run} was never started", hint="start a new one with: podium run")


async def clean_up(site: Site) -> None:
    """What an owner that died has left: its processes, its workspaces, locks of its git."""
    await anyio.to_thread.run_sync(sweep, site.marker)
    await workspace.clear(site)
    if site.repository is not None:
        await anyio.to_thread.run_sync(clear_locks, site.repository, site.run)


def _records(site: Site, exporters: Sequence[RunExporter]) -> RunFolder:
    render = question_renderer(site.project)
    return RunFolder(site.run_dir, site.mask, render=render, exporters=exporters)


async def _drive(
    loop: RunLoop, log: Log, site: Site, records: RunFolder, first: tuple[Message, ...]
) -> State:
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_keep_records, records, log)
            state = await loop.drive(*first)
            group.cancel_scope.cancel()
        return state
    finally:
        # Also after an interrupt: the records tell how far the run has come.
        with anyio.CancelScope(shield=True):
            await _write(records, log)
            await workspace.clear(site)


async def _keep_records(records: RunFolder, log: Log) -> None:
    """From the first half second on: a shorter run has them written once, at its end."""
    written = 0
    while True:
        await anyio.sleep(RECORD_S)
        seen = len(log.events)
        if seen != written:
            with anyio.CancelScope(shield=True):
                if await _write(records, log, patient=True):
                    written = seen


async def _write(records: RunFolder, log: Log, *, patient: bool = False) -> bool:
    events, state = tuple(log.events), log.state
    return await anyio.to_thread.run_sync(lambda: records.write(events, state, patient=patient))
