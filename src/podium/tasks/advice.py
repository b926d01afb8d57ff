"""Describes a run without progress to an advisor: visits, scores, outputs, time and cost (R128)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podium.core import addresses, ledger
from podium.core.addresses import ROOT
from podium.core.model import Agent, Block, Call, Members, Review
from podium.core.queries.file_versions import files_of, version_name
from podium.core.queries.graph import body_of, fresh_children
from podium.core.queries.step_results import fields_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.tasks.feedback import objections
from podium.views.format import dollars
from podium.views.plain import one_line
from podium.views.run.findings import ReviewHistory, in_state, reviews_of
from podium.workflow.prompts.quoting import fence, truncate_middle

MAX_VISITS: Final = 60
"""Only the newest visits are listed."""
MAX_ROUNDS: Final = 8
MAX_FINDINGS: Final = 20
MAX_ANSWER_CHARS: Final = 2_000
MAX_CHARS: Final = 16_000


def situation_of(state: State, instance: Instance) -> str:
    visits = sorted(_visits(state, instance), key=_turn)[-MAX_VISITS:]
    lines = "\n".join(_line(state, visit) for visit in visits)
    parts = (lines, _used(state), *_reviews(state), *_outputs(state, visits), objections(state, instance))
    return truncate_middle("\n\n".join(part for part in parts if part), MAX_CHARS)


def _turn(visit: Instance) -> tuple[int, int, int]:
    """Sort key: visits may be entered within the same millisecond."""
    return visit.place.entered, visit.place.visit, visit.place.index


def _visits(state: State, instance: Instance) -> Iterator[Instance]:
    """All finished visits, including those whose results no longer count, since they show the loop."""
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
    fields = fields_of(state, visit)
    words = [fields["outcome"] or "not passed yet"]
    if fields["reason"] not in ("", fields["outcome"]):
        words[0] += f" ({fields['reason']})"
    score = None if visit.ending is None else visit.ending.score
    words += [f"score {score:g}"] if score is not None else []
    words += [f"{fields['attempts']} attempts"] if fields["attempts"] > 1 else []
    words += [_seconds(fields["duration"] * 1000), dollars(visit.usd)]
    return f"- {visit.place.path}, visit {visit.place.visit}: {', '.join(words)}"


def _used(state: State) -> str:
    book = state.ledgers[ROOT]
    spent, unpriced_calls = book.spent, book.unknown_calls
    worked = _seconds(ledger.working_time(book, state.at))
    unpriced = f", {unpriced_calls} of them of unknown cost" if unpriced_calls else ""
    return (
        f"Used by the run so far: {book.transitions} transitions, {worked} of work, {dollars(spent.usd)}, "
        f"{spent.tokens:,} tokens in {spent.calls + book.unknown.calls} calls{unpriced}."
    )


def _reviews(state: State) -> Iterator[str]:
    for history in reviews_of(in_state(state)):
        yield "\n".join(_review(history))


def _review(history: ReviewHistory) -> Iterator[str]:
    """The trend of a review and its open findings."""
    scores = ", ".join("-" if score is None else f"{score:g}" for score in history.scores[-MAX_ROUNDS:])
    trend = f", {history.trend}" if history.trend else ""
    yield f'Review "{history.review}": {len(history.rounds)} rounds, scores {scores}{trend}; {history.open[-1]} findings open'
    unfixed = [finding for finding in history.findings if finding.status != "fixed"]
    for finding in unfixed[:MAX_FINDINGS]:
        where = f" {finding.path}" if finding.path else ""
        seen = f"first in {finding.first}, last in {finding.last}"
        issue = one_line(finding.issue, 200)
        yield f"- {finding.id} [{finding.severity}]{where}: {issue} ({finding.status}, {seen})"


def _seconds(millis: float) -> str:
    """Seconds with a fraction; by that a recording recognises measured times, which differ in a replay."""
    return f"{millis / 1000:.1f} s"


def _outputs(state: State, visits: list[Instance]) -> Iterator[str]:
    """The newest answer of each agent, also of those in a list, and the files of all visits that may be named."""
    newest = {visit.place.step.name: visit for visit in visits}
    for visit in newest.values():
        for worker in _workers(state, visit):
            result = (worker.answer and worker.answer.result) or {}
            text = str(result.get("text") or "").strip()
            if text:
                yield f"{worker.place.path} has answered:\n{fence(truncate_middle(text, MAX_ANSWER_CHARS))}"
    names = [
        f"- {version_name(path, visit.place.visit)} of {visit.place.path}"
        for visit in visits
        for path, _ in files_of(state, visit)
    ]
    if names:
        yield "\n".join(["Files that use_output may name:", *names])


def _workers(state: State, visit: Instance) -> Iterator[Leaf]:
    if isinstance(visit, Leaf):
        if isinstance(visit.place.step.verb, Agent):
            yield visit
    elif isinstance(visit.place.step.verb, Members | Review):
        for member in fresh_children(state, visit):
            yield from _workers(state, member)
