"""Builds the task of an effect: a pure function of the effect, the state and the results of an earlier run."""

from __future__ import annotations

from typing import assert_never

from podium.core.effects import (
    AskPerson,
    CancelAttempt,
    Effect,
    FindFact,
    JoinTrees,
    RunAttempt,
    StartTimer,
    Watch,
)
from podium.core.events import AttemptStarted, FactsAsked, JoinAsked, WaitStarted
from podium.core.model import Agent, Command, Git, Step, Wait, Write
from podium.core.payloads import RunMemory
from podium.core.queries.graph import tree_in_view, workflow_of
from podium.core.queries.memories import memory_of
from podium.core.queries.names import InstanceNames
from podium.core.queries.steps import with_choice
from podium.core.state import Instance, Leaf, State
from podium.core.step_settings import ChildRun
from podium.core.types import MERGE_MEMORY, Address, Tree
from podium.tasks.command_work import command_work_of, facts_of, rechecks_of, rechecks_of_merged
from podium.tasks.landings import land_work_of
from podium.tasks.prior_results import PriorResults, timeless
from podium.tasks.reads import chains_read
from podium.tasks.task import (
    AttemptTask,
    ChildRunWork,
    FactTask,
    JoinMember,
    JoinTask,
    Task,
    WatchTask,
    Work,
    WriteWork,
)
from podium.tasks.task_names import NameValues, capture

WATCHED = ("file", "commit", "step", "poll")
"""Conditions of a `wait` step that a task has to watch for; the engine handles signals and timers."""


def task_of(effect: Effect, state: State, prior: PriorResults | None = None) -> Task | None:
    """None for effects that need no work: timers, questions, signals and cancellations."""
    match effect:
        case RunAttempt(started=started, by_hand=by_hand):
            return attempt_task(started, state, prior, by_hand=by_hand)
        case Watch(wait=waiting):
            return _watch_task(waiting, state)
        case FindFact(query=question):
            return FactTask(question, _memory_to_merge(question, state))
        case JoinTrees(join=join):
            return _join_task(join, state, prior)
        case CancelAttempt() | StartTimer() | AskPerson():
            return None
        case _:
            assert_never(effect)


def _memory_to_merge(question: FactsAsked, state: State) -> RunMemory | None:
    return memory_of(state, question.argument) if question.function == MERGE_MEMORY else None


def attempt_task(
    started: AttemptStarted, state: State, prior: PriorResults | None = None, *, by_hand: bool = False
) -> AttemptTask:
    leaf = state.instances[started.path]
    assert isinstance(leaf, Leaf)
    return AttemptTask(
        started=started,
        step=with_choice(
            leaf.place.step, started.path, () if state.started is None else state.started.run.chosen
        ),
        values=_values(state, leaf),
        work=_work_of(started, leaf, state),
        view=tree_in_view(leaf),
        facts=facts_of(leaf),
        prior=() if prior is None else tuple(prior.attempts.get(started.path, ())),
        prior_run="" if prior is None else prior.run,
        by_hand=by_hand,
        memory=memory_of(state, leaf.place.step.memory),
        visit_start=leaf.place.start if leaf.place.keeps_head else None,
    )


def landing_task(started: AttemptStarted, state: State, branch: str) -> AttemptTask:
    """For `podium apply` after the run has ended; the workflow has no such step."""
    step = Step(name="apply", verb=Git(land=branch))
    return AttemptTask(started=started, step=step, values=NameValues(), work=land_work_of(state, started))


def _values(state: State, instance: Instance) -> NameValues:
    chains = chains_read(instance.place.step, workflow_of(state, instance.place).config)
    return capture(InstanceNames(state, instance), chains)


def _work_of(started: AttemptStarted, leaf: Leaf, state: State) -> Work:
    verb = leaf.place.step.verb
    match verb:
        case Agent():
            # Imported late: prompts are slow to import, and many runs have commands only.
            from podium.tasks.agent_work import agent_work_of

            return agent_work_of(leaf, state)
        case Command():
            return command_work_of(state, started)
        case Git():
            return land_work_of(state, started)
        case Write():
            return WriteWork()
        case ChildRun():
            return ChildRunWork(no_human=state.started is not None and state.started.no_human)
        case _:
            raise AssertionError(f"{started.path}: an attempt cannot perform {type(verb).__name__}")


def _watch_task(waiting: WaitStarted, state: State) -> WatchTask | None:
    leaf = state.instances[waiting.path]
    verb = leaf.place.step.verb
    if not isinstance(verb, Wait) or verb.what not in WATCHED:
        return None
    return WatchTask(
        started=waiting,
        step=leaf.place.step,
        values=_values(state, leaf),
        run_branch="" if state.started is None else state.started.run.branch,
        view=tree_in_view(leaf),
        base=leaf.base,
        start=leaf.place.start,
        facts=facts_of(leaf),
    )


def _join_task(join: JoinAsked, state: State, prior: PriorResults | None) -> JoinTask:
    return JoinTask(
        join,
        tuple(_member(join, path, tree, state) for path, tree in join.members),
        None if prior is None else prior.joins.get(timeless(join)),
        rechecks_of_merged(state, join.path, [path for path, _ in join.members]) if join.gated else (),
    )


def _member(join: JoinAsked, path: Address, tree: Tree, state: State) -> JoinMember:
    """A member builds on its own base: others may have been merged before it started, or it needs their work."""
    instance = state.instances.get(path)
    own = None if instance is None else instance.base
    return JoinMember(
        path,
        tree,
        own if own is not None else join.fork,
        rechecks_of(state, tree, path) if join.gated else (),
    )
