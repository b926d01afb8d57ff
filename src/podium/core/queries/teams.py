"""Who may ask whom in a team, and what has been asked and answered so far."""

from __future__ import annotations

from podium.core import addresses
from podium.core.events import AttemptEnded, AttemptQueued, StepEnded
from podium.core.model import Agent, TeamMember
from podium.core.payloads import Ask, Exchange, Reply
from podium.core.queries.conversations import conversation_of
from podium.core.queries.graph import leader_of
from podium.core.state import Instance, Leaf, State
from podium.core.types import Address, Tree


def team_of(state: State, leaf: Instance) -> tuple[TeamMember, ...]:
    """The team that a worker belongs to; () if it has none."""
    verb = leader_of(state, leaf).place.step.verb
    return verb.team if isinstance(verb, Agent) else ()


def may_ask(state: State, leaf: Instance) -> tuple[str, ...]:
    """The members that a worker may ask."""
    team = team_of(state, leaf)
    if leaf.place.role == "member":
        return team[leaf.place.index].asks
    return tuple(member.name for member in team)


def name_in_team(leaf: Instance) -> str:
    """What the others call a worker: its name in the team; the leader has that of its role, else of its step."""
    place = leaf.place
    verb = place.step.verb
    if place.role != "member" and isinstance(verb, Agent) and isinstance(verb.role, str):
        return verb.role
    return place.step.name


def waiting_names(state: State, leaf: Instance) -> tuple[str, ...]:
    """The names of those who wait for this worker's answer, the nearest first."""
    names = []
    while leaf.place.role == "member":
        leaf = state.instances[leaf.place.parent]
        names.append(name_in_team(leaf))
    return tuple(names)


def why_refused(state: State, leaf: Leaf, ask: Ask) -> str:
    """Why this worker cannot ask that; "" if it can."""
    if ask.to in waiting_names(state, leaf):
        return f"{ask.to} waits for you; answer with what you know"
    if ask.to == name_in_team(leaf):
        return f"you are {ask.to} yourself"
    conversation = conversation_of(state, leaf)
    if conversation is not None and conversation.is_over and ask.to == conversation.member.name:
        return f"the conversation with {ask.to} is over; continue with what you know"
    allowed = may_ask(state, leaf)
    if ask.to in allowed:
        return ""
    names = ", ".join(allowed) or "no one"
    if any(member.name == ask.to for member in team_of(state, leaf)):
        return f'you may not ask "{ask.to}"; you may ask {names}'
    return f'there is no "{ask.to}" in the team; you may ask {names}'


def index_of(state: State, leaf: Instance, name: str) -> int:
    return next(index for index, member in enumerate(team_of(state, leaf)) if member.name == name)


def member_path(leaf: Leaf, asks: tuple[Ask, ...], number: int) -> Address:
    """The address of the member that answers this ask of the last attempt; later asks of the same member are visits."""
    ask = asks[number]
    earlier = sum(other.to == ask.to for other in asks[:number])
    return addresses.child(addresses.attempt(leaf.place.path, leaf.attempt), ask.to, earlier + 1)


def answer_key(
    state: State, leaf: Leaf, ask: Ask, tree: Tree | None
) -> tuple[Address, str, str, Tree | None]:
    """The key of an answer. Spaces and case of a question do not matter."""
    question = " ".join(ask.question.casefold().split())
    files = "\0".join(sorted(ask.files))
    return leader_of(state, leaf).place.path, ask.to, f"{question}\0{files}", tree


def earlier_answer(state: State, leaf: Leaf, ask: Ask, tree: Tree | None) -> Address | None:
    """Who answered the same about the same files; in a conversation nothing is answered for the person."""
    conversation = conversation_of(state, leaf)
    if conversation is not None and ask.to == conversation.member.name:
        return None
    return state.answers.get(answer_key(state, leaf, ask, tree))


def record_answer(draft: State, member: Instance, event: StepEnded) -> None:
    """Keep the answer of a member, for the next time that the same is asked about the same files."""
    asker = draft.instances[member.place.parent]
    assert isinstance(asker, Leaf)
    number = member.place.target
    if event.outcome == "passed" and number >= 0 and asker.answer is not None:
        key = answer_key(draft, asker, asker.answer.asks[number], member.place.start)
        draft.answers.put(key, event.path)


def exchanges_after(leaf: Leaf, event: AttemptQueued) -> tuple[Exchange, ...]:
    """The exchanges of a worker when it goes on with replies."""
    if event.why != "answered":
        return leaf.exchanges
    answer = leaf.answer
    assert answer is not None
    asks = answer.asks or tuple(Ask(reply.to, "") for reply in event.replies)
    so_far = answer.so_far
    new = [Exchange(leaf.attempt, ask, reply, so_far) for ask, reply in zip(asks, event.replies, strict=True)]
    return (*leaf.exchanges, *new)


def question_to(state: State, member: Instance) -> Ask | None:
    """What a member was asked; None if the engine asks it about finished work."""
    asker = state.instances[member.place.parent]
    assert isinstance(asker, Leaf)
    number = member.place.target
    if number < 0:
        return None
    return _attempt_that_asked(asker, member.place.path).asks[number]


def _attempt_that_asked(asker: Leaf, path: Address) -> AttemptEnded:
    # A member runs while the attempt that asked is the last one of the asker.
    assert asker.answer is not None and path.startswith(addresses.attempt(asker.place.path, asker.attempt))
    return asker.answer


def is_reviewed(state: State, leaf: Leaf, member: TeamMember, tree: Tree | None) -> bool:
    """Whether a `when_done` member has been asked by the engine, or has answered about exactly these files."""
    for exchange in leaf.exchanges:
        reply: Reply = exchange.reply
        if reply.to != member.name or not reply.path:
            continue
        instance = state.instances[reply.path]
        ending = instance.ending
        if reply.by_engine:
            return True
        if ending is not None and ending.outcome == "passed" and tree in (instance.place.start, ending.tree):
            return True
    return False
