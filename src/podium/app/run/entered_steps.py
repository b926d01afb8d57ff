"""Finds addresses in the events of a run: those of a step that a person names, and those of the steps that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from podium.core.addresses import ROOT, without_visit
from podium.core.events import Event, StepEnded, StepEntered, StepExpanded
from podium.core.hash_chain import RunId
from podium.core.types import CONTINUING_OUTCOMES, Address
from podium.errors import ConfigurationError

ITERATION: Final = re.compile(r"([^\[\]]+)\[(\d+)\](.*)")
OF_FEATURES: Final = ("phases", "components")
"""Loops that no file contains: a feature has phases, and they have components."""


def entered_paths(events: Sequence[Event], run: RunId, step: str, *, downstream: bool) -> tuple[str, ...]:
    """The addresses of a step, of all in it, and of all that was entered after it."""
    entered = [event.path for event in events if isinstance(event, StepEntered)]
    keys = {event.path: event.keys for event in events if isinstance(event, StepExpanded) and event.keys}
    own = [path for path in entered if _is_in(path, step) or step in _prefixes(_by_keys(path, keys))]
    if not own:
        places = sorted({path for path in entered if "#" not in path})
        raise ConfigurationError(
            f'run {run} has not entered a step "{step}"', hint=f"it has entered: {', '.join(places)}"
        )
    return tuple(entered[entered.index(own[0]) :] if downstream else own)


def _is_in(path: Address, step: str) -> bool:
    """Any visit, member or gate of the step counts."""
    return any(without_visit(Address(name)) == step or _name(name) == step for name in _prefixes(path))


def _prefixes(path: str) -> Iterator[str]:
    """The address of what it is in, from the outermost to itself, each without the attempt."""
    parts = path.split("/")
    yield from ("/".join(parts[: number + 1]).partition("#")[0] for number in range(len(parts)))


def _by_keys(path: str, keys: Mapping[Address, Sequence[str]]) -> str:
    """An address by keys: `each[red]/test` for `each[1]/test`, and `feature/backend` for a phase."""
    words: list[str] = []
    parts = path.split("/")
    for place, part in enumerate(parts):
        match = ITERATION.fullmatch(part)
        names = () if match is None else keys.get(Address("/".join((*parts[:place], match[1]))), ())
        if match is None or not names:
            words.append(part)
            continue
        key = names[int(match[2]) - 1]
        words.append(f"{key}{match[3]}" if match[1] in OF_FEATURES else f"{match[1]}[{key}]{match[3]}")
    return "/".join(words)


def _name(path: str) -> str:
    last = path.rpartition("/")[2]
    for sign in "~[#":
        last = last.partition(sign)[0]
    return last


def failed_paths(events: Sequence[Event]) -> tuple[Address, ...]:
    """The addresses of the steps that made the run fail, with their gates and questions.

    A step counts if the newest visit of it and of every block around it ended in a failure. A failure that led back and was
    mended is a part of how the steps after it passed.
    """
    parents = {e.path: e.parent for e in events if isinstance(e, StepEntered) and e.role == "step"}
    newest = {without_visit(path): path for path in parents}
    ended = {e.path: e.outcome for e in events if isinstance(e, StepEnded)}

    def has_failed(path: Address) -> bool:
        while path != ROOT:
            outcome = ended.get(path)
            is_newest = newest.get(without_visit(path)) == path
            if not is_newest or outcome is None or outcome in CONTINUING_OUTCOMES:
                return False
            path = parents[path]
        return True

    blocks = set(parents.values())
    failed = tuple(path for path in parents if path not in blocks and has_failed(path))
    entered = (event.path for event in events if isinstance(event, StepEntered))
    return tuple(
        path for path in entered if path in failed or path.startswith(tuple(f"{at}#" for at in failed))
    )
