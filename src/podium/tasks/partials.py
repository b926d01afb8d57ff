"""The parts of a prompt that no author has to write: facts of the run in the words of a partial."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from podium.core.model import Fields
from podium.workflow.prompts.partials import FOLDER, SUFFIX, shipped_partial
from podium.workflow.prompts.render import Prompt, parse_prompt, render

MOST: Final = 2**24
"""Characters; the facts have bounds of their own, and a budget for files may be far beyond that of a prompt."""


def render_partial(config: Fields, name: str, facts: Mapping[str, Any]) -> str:
    """Raises PromptError: a partial of the project may be wrong in a way that only facts show.

    `config` is that of the workflow whose step the prompt is for.
    """
    prompt = _parsed(name + SUFFIX, tuple(partials_of(config).items()))
    return render(prompt, facts, max_chars=MOST).strip("\n")


def partials_of(config: Fields) -> Mapping[str, str]:
    """The partials of the user and of the project, by file name."""
    partials: Mapping[str, str] = config.get("partials") or {}
    return partials


@lru_cache(maxsize=256)
def _parsed(name: str, partials: tuple[tuple[str, str], ...]) -> Prompt:
    texts = dict(partials)
    text = texts.get(name, shipped_partial(name))
    assert text is not None, name
    return parse_prompt(text, folder=None, name=f"{FOLDER}/{name}", partials=texts)
