"""The one JSON value that an answer may be, where a program has no field of its own for it."""

from __future__ import annotations

from typing import Any, NamedTuple

from podium.ports.agent import AgentTrouble
from podium.workflow.contracts.single_json import NotOneValue, one_json


class Answer(NamedTuple):
    value: Any = None
    has_value: bool = False
    trouble: AgentTrouble | None = None
    detail: str = ""


def read_answer(text: str, *, wants_value: bool) -> Answer:
    """Of a program that ended well. Prose is an answer too, unless a value was wanted."""
    try:
        return Answer(one_json(text), has_value=True)
    except NotOneValue as error:
        return Answer(trouble="malformed", detail=str(error)) if wants_value else Answer()
