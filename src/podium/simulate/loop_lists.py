"""The lists that loops iterate over: which step's answer contains one, and which fields of the items are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from podium.core.expressions.templates import references
from podium.core.model import Call, ForEach, Output, Step, Verb, Workflow
from podium.core.queries.graph import LOOPS, SCOPES, panel_of
from podium.core.queries.steps import children_of
from podium.fast_dataclass import dataclass
from podium.workflow.contracts.examples import Draw, example, example_of


@dataclass(frozen=True, slots=True)
class AnswerList:
    """The place of the list in an answer, and the chains of fields that are read of each item."""

    place: tuple[str, ...]
    fields: tuple[tuple[str, ...], ...]
    most: int | None = None
    """The most members that the list may name; None if it is not the list of a panel."""


@lru_cache(maxsize=8)
def answer_lists(workflow: Workflow) -> Mapping[str, AnswerList]:
    """The lists by the name of the step whose answer contains them."""
    lists: dict[str, AnswerList] = {}
    for step in all_steps(workflow):
        for name, place in list_sources(step.verb):
            fields = _fields(step.verb) if isinstance(step.verb, ForEach) else ()
            before = lists.get(name, AnswerList(place, ()))
            bounds = [most for most in (before.most, _bound(step)) if most is not None]
            lists[name] = AnswerList(place, (*before.fields, *fields), min(bounds, default=None))
    return lists


def _bound(step: Step) -> int | None:
    return None if panel_of(step.verb) is None else step.limits.members or 1


def list_sources(verb: Verb) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The steps whose answers contain the list of this loop or panel, and its place in them."""
    panel = panel_of(verb)
    source = verb.items if isinstance(verb, ForEach) else None if panel is None else panel.names
    for reference in references(source):
        if reference.chain[:1] == ("steps",) and reference.chain[2:3] == ("output",):
            yield reference.chain[1], reference.chain[3:]


def all_steps(workflow: Workflow) -> Iterator[Step]:
    """Every step of a workflow and of the workflows that it calls."""
    last = () if workflow.finally_ is None else (workflow.finally_,)
    for step in (*workflow.body.steps, *last):
        yield step
        yield from steps_below(step)


def steps_below(step: Step) -> Iterator[Step]:
    verb = step.verb
    if isinstance(verb, Call):
        yield from all_steps(verb.workflow)
        return
    inner = (verb.body,) if isinstance(verb, LOOPS) else children_of(verb) if isinstance(verb, SCOPES) else ()
    for child in inner:
        yield child
        yield from steps_below(child)


def _fields(loop: ForEach) -> Iterator[tuple[str, ...]]:
    for value in (loop.key, loop.where, loop.needs, loop.body.when):
        for reference in references(value):
            if reference.chain[0] == loop.name:
                yield reference.chain[1:]


def answer_with(output: Output, answer_list: AnswerList, text: str, width: int, draw: Draw) -> Any:
    """An answer that satisfies the contract and whose list has `width` items."""
    labels = [f"{text} {number}" for number in range(1, width + 1)]
    if answer_list.most is not None:
        labels = [f"member_{number}" for number in range(1, max(1, min(width, answer_list.most)) + 1)]
    match output.kind:
        case "lines":
            return labels
        case "json":
            return _set_at({}, answer_list.place, [_item(answer_list, label) for label in labels])
        case "schema":
            answer = example_of(output, text, draw)
            return _with_items(answer, output.schema or {}, answer_list.place, labels, draw)
        case _:
            return example_of(output, text, draw)


def _item(answer_list: AnswerList, text: str) -> Any:
    item: dict[str, Any] = {}
    for chain in answer_list.fields:
        if chain:
            # An invented need would never be met.
            _set_at(item, chain, [] if chain[-1] == "needs" else f"{text} {chain[-1]}")
    return item or text


def _set_at(answer: dict[str, Any], place: tuple[str, ...], value: Any) -> Any:
    if not place:
        return value
    answer[place[0]] = _set_at(answer.get(place[0]) or {}, place[1:], value)
    return answer


def _with_items(
    value: Any, schema: Mapping[str, Any], place: tuple[str, ...], labels: list[str], draw: Draw
) -> Any:
    if place and isinstance(value, dict):
        inner = schema.get("properties", {}).get(place[0], {})
        return {**value, place[0]: _with_items(value.get(place[0]), inner, place[1:], labels, draw)}
    if place or schema.get("type") != "array":
        return value
    items = schema.get("items", {"type": "string"})
    return [example(items, label, draw, f"[{number}]") for number, label in enumerate(labels, start=1)]
