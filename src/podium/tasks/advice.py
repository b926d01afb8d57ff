"""What an advisor has to know about a run that stands still: its way so far, scores, outputs, time and money (R128)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podium.core import addresses, ledger
from podium.core.addresses import ROOT
from podium.core.model import Agent, Block, Call
from podium.core.queries.graph import body_of, fresh_children
from podium.core.queries.step_results import fields_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.tasks.feedback import objections
from podium.views.format import dollars
from podium.views.plain import one_line
from podium.views.run.findings import ReviewHistory, in_state, reviews_of
from podium.workflow.prompts.quoting import fence, truncate_middle

VISITS: Final = 60
"""The newest; a run that has made more of them is stopped by then."""
ROUNDS: Final = 8
FINDINGS: Final = 20
SHOWN: Final = 2_000
MOST: Final = 16_000


def situation_of(state: State, instance: Instance) -> str:
    visits = sorted(_visits(state, instance), key=_turn)[-VISITS:]
    lines = "\n".join(_line(state, visit) for visit in visits)
    parts = (lines, _used(state), *_reviews(state), *_outputs(visits), objections(state, instance))
    return truncate_middle("\n\n".join(part for part in parts if part), MOST)


def _turn(visit: Instance) -> tuple[int, int, int]:
    """When it was its turn; much can happen within a millisecond."""
    return visit.place.entered, visit.place.visit, visit.place.slot


def _visits(state: State, instance: Instance) -> Iterator[Instance]:
    """Also those whose results no longer count: they are what the circle is made of."""
    verb = instance.place.step.verb
    if isinstance(instance, Leaf):
        yield instance
    elif not isinstance(verb, Block | Call):
        yield from (child for child in fresh_children(state, instance) if child.ending is not None)
    else:
        yield from _of_block(state, instance, verb)


def _of_block(state: State, scope: Scope, verb: Block | Call) -> Iterator[Instance]:
    body = body_of(verb)
    for index, step in enumerate(() if body is None else body.steps):
        newest = state.latest.get((scope.place.path, index))
        for number in range(1, 0 if newest is None else newest.number + 1):
            visit = state.instances[addresses.child(scope.place.path, step.name, number)]
            if visit.ending is not None:
                yield visit


def _line(state: State, visit: Instance) -> str:
    told = fields_of(state, visit)
    words = [told["outcome"] or "not passed yet"]
    if told["reason"] not in ("", told["outcome"]):
        words[0] += f" ({told['reason']})"
    score = None if visit.ending is None else visit.ending.score
    words += [f"score {score:g}"] if score is not None else []
    words += [f"{told['attempts']} attempts"] if told["attempts"] > 1 else []
    words += [_seconds(told["duration"] * 1000), dollars(visit.usd)]
    return f"- {visit.place.path}, visit {visit.place.visit}: {', '.join(words)}"


def _used(state: State) -> str:
    book = state.ledgers[ROOT]
    spent, unknown = book.spent, book.unknown.calls
    worked = _seconds(ledger.working_time(book, state.at))
    beside = f", {unknown} of them of unknown cost" if unknown else ""
    return (
        f"Used by the run so far: {book.transitions} transitions, {worked} of work, {dollars(spent.usd)}, "
        f"{spent.tokens:,} tokens in {spent.calls + unknown} calls{beside}."
    )


def _reviews(state: State) -> Iterator[str]:
    for found in reviews_of(in_state(state)):
        yield "\n".join(_review(found))


def _review(found: ReviewHistory) -> Iterator[str]:
    """Where it is going, and what has been open since when."""
    scores = ", ".join("-" if score is None else f"{score:g}" for score in found.scores[-ROUNDS:])
    trend = f", {found.trend}" if found.trend else ""
    yield f'Review "{found.review}": {len(found.rounds)} rounds, scores {scores}{trend}; {found.open[-1]} findings open'
    unfixed = [finding for finding in found.findings if finding.status != "fixed"]
    for finding in unfixed[:FINDINGS]:
        where = f" {finding.path}" if finding.path else ""
        seen = f"first in {finding.first}, last in {finding.last}"
        issue = one_line(finding.issue, 200)
        yield f"- {finding.id} [{finding.severity}]{where}: {issue} ({finding.status}, {seen})"


def _seconds(millis: float) -> str:
    """With a fraction: by that a recording knows what was measured, and that it is another one when it is played."""
    return f"{millis / 1000:.1f} s"


def _outputs(visits: list[Instance]) -> Iterator[str]:
    """The newest answer of each worker."""
    newest = {visit.place.step.name: visit for visit in visits if isinstance(visit.place.step.verb, Agent)}
    for visit in newest.values():
        answer = visit.answer if isinstance(visit, Leaf) else None
        text = str(((answer and answer.result) or {}).get("text") or "").strip()
        if text:
            yield f"{visit.place.path} has answered:\n{fence(truncate_middle(text, SHOWN))}"
