"""Renders the parts of a prompt that Podium adds: a partial, filled with facts of the run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from podium.core.step_settings import WorkflowConfig
from podium.workflow.prompts.partials import FOLDER, SUFFIX, shipped_partial

if TYPE_CHECKING:
    from podium.workflow.prompts.render import Prompt

MAX_CHARS: Final = 2**24
"""Far above any prompt, since the facts have their own bounds and a budget for files may be large."""


def render_partial(config: WorkflowConfig, name: str, facts: Mapping[str, Any]) -> str:
    """Raises PromptError, because a faulty partial of the project may fail only with certain facts.

    `config` belongs to the workflow of the prompt's step.
    """
    # The library for prompts is heavy, and many runs render none.
    from podium.workflow.prompts.render import render

    prompt = _parsed(name + SUFFIX, tuple(config.partials.items()))
    return render(prompt, facts, max_chars=MAX_CHARS).strip("\n")


@lru_cache(maxsize=256)
def _parsed(name: str, partials: tuple[tuple[str, str], ...]) -> Prompt:
    from podium.workflow.prompts.render import parse_prompt

    texts = dict(partials)
    text = texts.get(name, shipped_partial(name))
    assert text is not None, name
    return parse_prompt(text, folder=None, name=f"{FOLDER}/{name}", partials=texts)
