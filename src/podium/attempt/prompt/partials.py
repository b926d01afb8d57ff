"""The parts of a prompt that nobody has to write: facts of the run in the words of a partial."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from podium.core.queries.graph import workflow_of
from podium.core.state import Placement, State
from podium.workflow.prompts.partials import FOLDER, SUFFIX, shipped_partial
from podium.workflow.prompts.render import Prompt, parse_prompt, render

MOST: Final = 2**24
"""Characters; the facts have bounds of their own, and a budget for files may be far beyond that of a prompt."""


def render_partial(state: State, place: Placement, name: str, facts: Mapping[str, Any]) -> str:
    """Raises PromptError: a partial of the project may be wrong in a way that only facts show."""
    prompt = _parsed(name + SUFFIX, tuple(partials_of(state, place).items()))
    return render(prompt, facts, most=MOST).strip("\n")


def partials_of(state: State, place: Placement) -> Mapping[str, str]:
    """Those of the user and of the project, by the names of their files."""
    found: Mapping[str, str] = workflow_of(state, place).config.get("partials") or {}
    return found


@lru_cache(maxsize=256)
def _parsed(name: str, own: tuple[tuple[str, str], ...]) -> Prompt:
    texts = dict(own)
    text = texts.get(name, shipped_partial(name))
    assert text is not None, name
    return parse_prompt(text, folder=None, name=f"{FOLDER}/{name}", partials=texts)
