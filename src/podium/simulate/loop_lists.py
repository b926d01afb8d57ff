"""The lists that loops go over: whose answer holds one, and what the loop reads of its items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from podium.core.expressions.templates import references
from podium.core.model import Call, ForEach, Output, Step, Workflow
from podium.core.queries.graph import LOOPS, SCOPES, children_of
from podium.workflow.contracts.examples import Draw, example, example_of


@dataclass(frozen=True, slots=True)
class Listing:
    """Where in an answer the list stands, and the chains of fields that are read of each item."""

    place: tuple[str, ...]
    fields: tuple[tuple[str, ...], ...]


@lru_cache(maxsize=8)
def lists_of(workflow: Workflow) -> Mapping[str, Listing]:
    """By the name of the step that answers with the list."""
    found: dict[str, Listing] = {}
    for loop in [step.verb for step in steps_of(workflow) if isinstance(step.verb, ForEach)]:
        for name, place in sources(loop):
            found[name] = Listing(place, (*found.get(name, Listing(place, ())).fields, *_fields(loop)))
    return found


def sources(loop: ForEach) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The steps whose answers hold the list of this loop, and where in them."""
    for read in references(loop.items):
        if read.chain[:1] == ("steps",) and read.chain[2:3] == ("output",):
            yield read.chain[1], read.chain[3:]


def steps_of(workflow: Workflow) -> Iterator[Step]:
    """Every step of a workflow and of those that it calls."""
    last = () if workflow.finally_ is None else (workflow.finally_,)
    for step in (*workflow.body.steps, *last):
        yield step
        yield from steps_below(step)


def steps_below(step: Step) -> Iterator[Step]:
    verb = step.verb
    if isinstance(verb, Call):
        yield from steps_of(verb.workflow)
        return
    inner = (verb.body,) if isinstance(verb, LOOPS) else children_of(verb) if isinstance(verb, SCOPES) else ()
    for child in inner:
        yield child
        yield from steps_below(child)


def _fields(loop: ForEach) -> Iterator[tuple[str, ...]]:
    for value in (loop.key, loop.where, loop.needs, loop.body.when):
        for read in references(value):
            if read.chain[0] == loop.name:
                yield read.chain[1:]


def answer_with(output: Output, listing: Listing, text: str, width: int, draw: Draw) -> Any:
    """An answer that meets the contract, and whose list has so many items."""
    match output.kind:
        case "lines":
            return [f"{text} {number}" for number in range(1, width + 1)]
        case "json":
            items = [_item(listing, f"{text} {number}") for number in range(1, width + 1)]
            return _placed({}, listing.place, items)
        case "schema":
            whole = example_of(output, text, draw)
            return _widened(whole, output.schema or {}, listing.place, text, width, draw)
        case _:
            return example_of(output, text, draw)


def _item(listing: Listing, text: str) -> Any:
    found: dict[str, Any] = {}
    for chain in listing.fields:
        if chain:
            # An invented need would never be met.
            _placed(found, chain, [] if chain[-1] == "needs" else f"{text} {chain[-1]}")
    return found or text


def _placed(whole: dict[str, Any], place: tuple[str, ...], value: Any) -> Any:
    if not place:
        return value
    whole[place[0]] = _placed(whole.get(place[0]) or {}, place[1:], value)
    return whole


def _widened(
    whole: Any, schema: Mapping[str, Any], place: tuple[str, ...], text: str, width: int, draw: Draw
) -> Any:
    if place and isinstance(whole, dict):
        inner = schema.get("properties", {}).get(place[0], {})
        return {**whole, place[0]: _widened(whole.get(place[0]), inner, place[1:], text, width, draw)}
    if place or schema.get("type") != "array":
        return whole
    items = schema.get("items", {"type": "string"})
    return [example(items, f"{text} {number}", draw, f"[{number}]") for number in range(1, width + 1)]
