"""Commands that must pass again because their tree was merged with something else: gates, and runs that keep nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from podium.attempt.command import run as command
from podium.attempt.command.evidence import words_of
from podium.attempt.site import Site
from podium.core import addresses
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.model import Command, Gates
from podium.core.payloads import Amounts
from podium.core.queries.names import InstanceNames
from podium.core.state import Leaf, State
from podium.core.types import Path, Tree


@dataclass(frozen=True, slots=True)
class FailedRecheck:
    """The first command that did not pass on the merged tree."""

    path: Path
    message: str


def commands_passed_on(state: State, tree: Tree, below: Path | None = None) -> tuple[Leaf, ...]:
    """The commands that passed on a tree, each once; of the whole run, or of one instance and all within it.

    A member that was merged onto the head has passed its gates there as well, though no instance tells so.
    """
    found: dict[object, Leaf] = {}
    for instance in state.instances.values():
        if not isinstance(instance, Leaf) or not _keeps_nothing(instance):
            continue
        path = instance.place.path
        if below is not None and not _is_within(path, below):
            continue
        if instance.place.start == tree or (below is None and _is_of_joined(state, instance)):
            found.setdefault(_key(state, instance), instance)
    return tuple(found.values())


async def rerun(site: Site, state: State, leaves: Iterable[Leaf], tree: Tree) -> FailedRecheck | None:
    """Runs them on a tree one after another, until one is red. Raises what a command raises."""
    for leaf in leaves:
        asked = AttemptStarted(
            at=site.now(),
            path=leaf.place.path,
            attempt=leaf.attempt,
            reserve=Amounts(),
            base=leaf.place.start,
            start=tree,
            timeout=leaf.place.step.timeout,
        )
        ended = await command.judge(asked, state, site, before=leaf.place.start)
        if ended.kind != "ok":
            return FailedRecheck(leaf.place.path, _message(ended))
    return None


def _keeps_nothing(leaf: Leaf) -> bool:
    passed = leaf.ending is not None and leaf.ending.outcome == "passed"
    return passed and isinstance(leaf.place.step.verb, Command) and leaf.place.step.touches == ()


def _is_within(path: Path, around: Path) -> bool:
    return path == around or path.startswith((f"{around}/", f"{around}#", f"{around}["))


def _is_of_joined(state: State, leaf: Leaf) -> bool:
    """Whether this is a gate of the attempt whose work was merged."""
    for gates in _around(state, leaf):
        if isinstance(state.instances[gates].place.step.verb, Gates):
            owner = state.instances[state.instances[gates].place.parent]
            return (
                isinstance(owner, Leaf)
                and owner.merge == "joined"
                and gates == addresses.attempt(owner.place.path, owner.attempt)
            )
    return False


def _around(state: State, leaf: Leaf) -> Iterator[Path]:
    path = leaf.place.parent
    while path != addresses.ROOT:
        yield path
        path = state.instances[path].place.parent


def _key(state: State, leaf: Leaf) -> object:
    """The same command with the same words is run once, whoever asked for it."""
    try:
        return repr(words_of(leaf.place.step, InstanceNames(state, leaf)))
    except (ExprError, NeedFact):
        return leaf.place.path


def _message(ended: AttemptEnded) -> str:
    return str((ended.result or {}).get("message") or f"it ended as {ended.kind}")
