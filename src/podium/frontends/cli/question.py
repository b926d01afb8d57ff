"""A question at the terminal, and what a typed line means as its answer; also for the inputs that a run lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from podium.app.author.load import parse_inputs
from podium.app.values import parse_value
from podium.errors import ConfigurationError
from podium.frontends.cli.output import say
from podium.views.format import plural
from podium.views.plain import one_line, visible, wrapped
from podium.views.run.labels import labelled, labelled_question, labels_in
from podium.views.run.view import Pending, RunView
from podium.views.text.next_steps import answers_to, background, look_at

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.query.exhibits import Exhibit
    from podium.core.model import Input

QUESTION_ROWS: Final = 8
"""What the question itself may take of the screen."""


class TypedAnswer(NamedTuple):
    action: str
    text: str = ""
    value: Any = None


class Pages:
    """What a question is about, page by page; the next page is printed on demand, so that the run is not held up."""

    def __init__(self, exhibits: Sequence[Exhibit], rows: int) -> None:
        self._lines = [line for exhibit in exhibits for line in _exhibit_lines(exhibit)]
        self._size = max(5, rows - QUESTION_ROWS)

    def next(self) -> str:
        """The next page, with how to get the one after it; empty after the last one."""
        page, self._lines = self._lines[: self._size], self._lines[self._size :]
        if self._lines:
            page.append(f"  -- {plural(len(self._lines), 'more line')}; Enter shows the next page --")
        return "\n".join(page)

    def __bool__(self) -> bool:
        return bool(self._lines)


def _exhibit_lines(exhibit: Exhibit) -> Iterator[str]:
    """Indented: what agents wrote never starts a line of its own, so that it cannot imitate our lines."""
    yield f"  {exhibit.name}:"
    yield from (f"    {line}" for line in visible(exhibit.text).splitlines())
    if exhibit.truncated:
        yield "    ... it is longer than what is shown here"


def tell_question(view: RunView, pending: Pending, width: int | None = None) -> str:
    """The question with what can be typed; broken between words at a width."""
    return "\n".join(line for text in _question(view, pending) for line in wrapped(text, width))


def _question(view: RunView, pending: Pending) -> Iterator[str]:
    view, pending = labelled(view), labelled_question(pending, labels_in(view))
    # It may contain text of agents, which never starts a line of its own, so that it cannot imitate our lines.
    first, *more = visible(pending.question).splitlines() or [""]
    yield f"? {pending.path}: {first}"
    yield from (f"    {line}" for line in more)
    if pending.choices:
        yield f"  choices: {', '.join(pending.choices)}"
    yield from (f"  {line}" for line in background(view, pending))
    if not pending.actions:
        for hint in answers_to(view.run, pending):
            yield f"  {hint.command}  {hint.why} (in another terminal)"
        return
    look = look_at(view, pending)
    if look is not None:
        yield f"  look at it: {look.command} (in another terminal)"
    yield _instruction(pending) + ("" if _is_value(pending) else "; text after it is passed on")


def _is_value(pending: Pending) -> bool:
    return pending.actions[0] == "answer"


def _instruction(pending: Pending) -> str:
    if pending.until:
        return f"  type what you say to it; {pending.until} ends the conversation"
    return (
        "  type the answer, or: abort"
        if _is_value(pending)
        else f"  type one of {', '.join(pending.actions)}"
    )


def read_answer(line: str, pending: Pending) -> TypedAnswer | str:
    """The answer, or why the line is not one; a prefix of an action is enough."""
    text = line.strip()
    if not text:
        return _instruction(pending)
    first, _, rest = text.partition(" ")
    matches = [
        action for action in pending.actions if action.startswith(first.lower()) and action != "answer"
    ]
    if len(matches) == 1 and not (_is_value(pending) and first != matches[0]):
        return TypedAnswer(matches[0], rest.strip())
    if "answer" in pending.actions:
        try:
            return TypedAnswer("answer", "", parse_value(text, "the answer"))
        except ConfigurationError as error:
            return f"  {error.message}"
    if len(matches) > 1:
        return f"  {first!r} could be {' or '.join(matches)}"
    return f"  {first!r} is none of {', '.join(pending.actions)}"


def ask_missing_inputs(definition: LoadedWorkflow, values: Mapping[str, Any]) -> dict[str, Any]:
    """Asks for each required input without a value, until the typed one has its type."""
    missing = [item for item in definition.workflow.inputs if item.required and item.name not in values]
    return {**values, **{item.name: _ask_input(definition, item) for item in missing}}


def _ask_input(definition: LoadedWorkflow, item: Input) -> Any:
    words = one_line(item.help, 300) if item.help else ""
    choices = f"one of {', '.join(map(str, item.choices))}" if item.choices else ""
    kind = "" if item.type == "string" else item.type
    about = "; ".join(filter(None, (words, choices or kind)))
    while True:
        line = click.prompt(f"{item.name} ({about})" if about else item.name, err=True)
        try:
            value = parse_inputs((f"{item.name}={line}",), definition)[item.name]
        except ConfigurationError as error:
            say(f"  {error.message}", err=True)
            continue
        if item.choices and value not in item.choices:
            say(f"  {line!r} is not {choices}", err=True)
            continue
        return value
