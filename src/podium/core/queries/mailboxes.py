"""The notes that workers and people leave for later workers, and which attempt gets which."""

from __future__ import annotations

from podium.core import addresses
from podium.core.events import AttemptEnded
from podium.core.model import Agent, Call
from podium.core.payloads import LeftNote
from podium.core.queries.graph import leader_of
from podium.core.queries.steps import all_steps
from podium.core.queries.teams import name_in_team
from podium.core.state import Instance, Leaf, State
from podium.core.types import Address

NOTES_KEPT = 100
"""How many notes a run keeps; later ones are dropped."""


def mailbox_of(state: State, leaf: Instance) -> Address:
    """The address that notes for a worker have: its step, or the step and its name in the team."""
    leader = addresses.without_visits(leader_of(state, leaf).place.path)
    return Address(f"{leader}/{leaf.place.step.name}") if leaf.place.role == "member" else leader


def left_notes(state: State, leaf: Leaf, event: AttemptEnded) -> tuple[LeftNote, ...]:
    """The notes that an attempt left, as the run keeps them."""
    room = max(0, NOTES_KEPT - len(state.notes))
    by = leaf.place.path
    return tuple(
        LeftNote(note.text, _addressee(state, leaf, note.to), by, leaf.attempt) for note in event.notes[:room]
    )


def _addressee(state: State, leaf: Leaf, name: str) -> Address:
    if not name:
        return Address("")
    leader = leader_of(state, leaf)
    path = addresses.without_visits(leader.place.path)
    return path if name == name_in_team(leader) else Address(f"{path}/{name}")


def unread_notes(state: State, leaf: Leaf) -> tuple[int, ...]:
    """The notes that the next attempt of a worker is the first to get: addressed ones once, others once per step."""
    if not state.notes:
        return ()
    own = mailbox_of(state, leaf)
    return tuple(
        number
        for number, note in enumerate(state.notes)
        if number not in leaf.notes
        and note.by != leaf.place.path
        and (not note.to or (note.to == own and not note.is_read))
    )


def mark_read(notes: tuple[LeftNote, ...], numbers: tuple[int, ...]) -> tuple[LeftNote, ...]:
    return tuple(
        note._replace(is_read=True) if number in numbers else note for number, note in enumerate(notes)
    )


def unknown_mailbox(state: State, to: Address) -> str:
    """Why nobody gets a note with this address; "" if somebody may."""
    root = state.root.verb
    assert isinstance(root, Call)
    address = addresses.without_numbers(to)
    names: list[str] = []
    for path, step, _ in all_steps(root.workflow):
        if isinstance(step.verb, Agent) and not step.verb.judge and "#" not in path:
            names += [path, *(f"{path}/{member.name}" for member in step.verb.team)]
    if address in names:
        return ""
    return f"no agent step or member of a team is called {to!r}; there are {', '.join(names) or 'none'}"
