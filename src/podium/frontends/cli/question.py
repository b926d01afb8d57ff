"""A question at the terminal, and what a typed line means as its answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from podium.app.values import parse_value
from podium.errors import ConfigurationError
from podium.views.plain import one_line, visible
from podium.views.run.view import Pending, RunView
from podium.views.text.next_steps import answers_to, background, look_at


class TypedAnswer(NamedTuple):
    action: str
    text: str = ""
    value: Any = None


def tell_question(view: RunView, pending: Pending) -> str:
    # It may contain text of agents, which never starts a line of its own, so that it cannot imitate our lines.
    first, *more = visible(pending.question).splitlines() or [""]
    lines = [f"? {pending.path}: {first}", *(f"    {line}" for line in more)]
    if pending.about:
        lines.append(f"  about: {one_line(pending.about, 300)}")
    lines += [f"  {line}" for line in background(view, pending)]
    if not pending.actions:
        lines += [
            f"  {hint.command}  {hint.why} (in another terminal)" for hint in answers_to(view.run, pending)
        ]
        return "\n".join(lines)
    look = look_at(view, pending)
    if look is not None:
        lines.append(f"  look at it: {look.command} (in another terminal)")
    lines.append(_instruction(pending) + ("" if _is_value(pending) else "; text after it is passed on"))
    return "\n".join(lines)


def _is_value(pending: Pending) -> bool:
    return pending.actions[0] == "answer"


def _instruction(pending: Pending) -> str:
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
