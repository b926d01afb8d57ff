"""What a run waits for and what bounds it, with the words of its workflow; needs the folded state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, assert_never

from podium.core.addresses import ROOT
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
from podium.core.ledger import working_time
from podium.core.model import Agent, Human, Wait
from podium.core.queries.graph import PRICE, actions_of
from podium.core.state import Instance, Leaf, State, is_parkable
from podium.core.types import Millis
from podium.views.plain import one_line
from podium.views.run.builder import kind_of_question
from podium.views.run.checks import with_checks
from podium.views.run.view import LimitView, Pending, RunView

MOST_FILES: Final = 20
Render: TypeAlias = Callable[[State, Leaf], str]
"""The text a person is asked with, its names filled in. Prompts are rendered outside of the views."""


def as_written(state: State, leaf: Leaf) -> str:
    """The text as it stands in the file, for callers that cannot render it."""
    match leaf.place.step.verb:
        case Human(question=question):
            return f"{_whose(leaf)}{question.text.strip()}{_named_files(state, leaf)}"
        case Agent(prompt=prompt) if prompt is not None:
            return prompt.text.strip()
        case _:
            return leaf.place.step.description


def _whose(leaf: Leaf) -> str:
    about = leaf.place.about
    return f'"{about.removeprefix(PRICE)}": ' if about.startswith(PRICE) else ""


def _named_files(state: State, leaf: Leaf) -> str:
    """Which files a question about protected ones is about: whoever allows them must have seen their names."""
    owner = state.instances[leaf.place.parent]
    answer = owner.answer if isinstance(owner, Leaf) and leaf.place.about == "protected" else None
    if answer is None:
        return ""
    names = [*answer.protected[:MOST_FILES]]
    more = [f"and {len(answer.protected) - MOST_FILES} more"] if len(answer.protected) > MOST_FILES else []
    return f" {', '.join(one_line(name, 200) for name in (*names, *more))}"


def with_state(view: RunView, state: State, render: Render = as_written) -> RunView:
    """The view with questions and failed checks in words, and with limits."""
    pending = tuple(pending_in(state, render))
    waits = view.status == "running" and is_parkable(state) and any(p.kind != "retry" for p in pending)
    return with_checks(view, state)._replace(
        pending=pending, limits=tuple(limits_in(state)), status="waiting" if waits else view.status
    )


def pending_in(state: State, render: Render = as_written) -> Iterator[Pending]:
    if state.ended is not None:
        return
    for (_, path), effect in state.pending.items():
        found = _pending(state, state.instances[path], effect, render)
        if found is not None:
            yield found


def _pending(state: State, instance: Instance, effect: Effect, render: Render) -> Pending | None:
    if not isinstance(instance, Leaf):
        return None
    match effect:
        case AskPerson():
            return question_view(state, instance, effect, render)
        case RunAttempt(asked=asked, by_hand=True):
            text = render(state, instance)
            return Pending(asked.path, "by_hand", asked.at, question=text, base=asked.base, tree=asked.start)
        case Watch(asked=waited):
            return _wait(instance, waited.at, waited.due)
        case StartTimer(path=path, due=due):
            answer = instance.answer
            is_quota = answer is not None and answer.kind == "quota"
            since = instance.place.entered if answer is None else answer.at
            return Pending(path, "quota" if is_quota else "retry", since, due)
        case RunAttempt() | CancelAttempt() | FindFact() | JoinTrees():
            return None
        case _:
            assert_never(effect)


def question_view(state: State, leaf: Leaf, effect: AskPerson, render: Render) -> Pending:
    """An open question in words, with the answers it takes."""
    asked, step = effect.asked, leaf.place.step
    verb = step.verb
    kind = kind_of_question(step.name)
    shows: tuple[str, ...] = ()
    if isinstance(verb, Human):
        kind = "question" if verb.answers else kind
        shows = tuple(word for word in verb.oversight.show if isinstance(word, str))
    return Pending(
        path=asked.path,
        kind=kind,
        since=asked.at,
        due=asked.expires,
        question=render(state, leaf),
        actions=actions_of(step),
        by=asked.by,
        approvals=asked.approvals,
        given=tuple(given.by for given in leaf.given),
        about=leaf.place.about,
        shows=shows,
        base=leaf.place.base,
        tree=asked.tree,
    )


def _wait(leaf: Leaf, since: Millis, due: Millis | None) -> Pending:
    verb = leaf.place.step.verb
    assert isinstance(verb, Wait)
    what = verb.detail.get(verb.what, "")
    name = what if isinstance(what, str) else ""
    return Pending(leaf.place.path, verb.what, since, due, name=name)


def limits_in(state: State) -> Iterator[LimitView]:
    """Of the whole run; what is used includes what attempts without a price may have cost, not what is reserved."""
    book = state.ledgers.get(ROOT)
    if book is None:
        return
    limits, spent, unknown, held = book.limits, book.spent, book.unknown, book.held
    used = {
        "usd": (spent.usd + unknown.usd) / 1_000_000,
        "tokens": spent.tokens + unknown.tokens,
        "calls": spent.calls + unknown.calls,
        "window": book.window,
        "time": working_time(book, state.at) / 1000,
        "transitions": book.transitions,
    }
    reserved = {"usd": held.usd / 1_000_000, "tokens": held.tokens, "calls": held.calls}
    scale = {"usd": 1_000_000, "time": 1000}
    for unit, amount in used.items():
        limit = getattr(limits, unit)
        if limit is not None:
            most = limit / scale[unit] if unit in scale else limit
            yield LimitView(unit, most, amount, reserved.get(unit, 0))
