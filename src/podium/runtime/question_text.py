"""The text of a question with its names filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.model import Agent, Human
from podium.core.queries.graph import workflow_of
from podium.core.queries.names import InstanceNames
from podium.core.state import Leaf, State
from podium.core.types import TO_A_PERSON
from podium.views.run.questions import as_written
from podium.workflow.prompts.prompt import PromptError, plain_prompt

RULES: Final = {
    "visits": "a step was entered more often than it may",
    "cycle": "the same sequence of steps ran again and again",
    "repeat": "several visits of a step ended with the same content",
    "similar": "an answer hardly differs from the one before",
    "plateau": "several rounds brought no better score",
    "reversals": "a reviewer contradicted itself",
    "disagree": "the scores of the reviewers are far apart",
    "retries": "several attempts of a visit failed",
    "sent_back": "a step was sent back several times",
    "failures": "several attempts failed in a short time",
    "near": "most of a limit is used",
    "transitions": "the run has entered that many steps",
    "time": "the run has worked that long",
    "usd": "the run has cost that much",
    "complete": "the run is about to pass",
}
"""What happened when a rule of the breaker was hit."""


def question_renderer(project: Path) -> Callable[[State, Leaf], str]:
    """A function that renders questions; one that cannot be rendered is shown as it is written."""

    def render(state: State, leaf: Leaf) -> str:
        verb = leaf.place.step.verb
        prompt = (
            verb.question if isinstance(verb, Human) else verb.prompt if isinstance(verb, Agent) else None
        )
        if leaf.place.role == "advice" and isinstance(verb, Human):
            rule = leaf.place.topic.removeprefix(TO_A_PERSON)
            where = f" of {leaf.place.parent}" if leaf.place.parent else ""
            meaning = f": {RULES[rule]}" if rule in RULES else ""
            return f"{verb.question.text} The rule is `{rule}`{where}{meaning}."
        if prompt is None or plain_prompt(prompt.text, name="") is not None:
            return as_written(state, leaf)
        # Imported only for a question with names to fill in.
        from podium.workflow.prompts import render as prompts

        name = prompt.file or ""
        folder = project / (Path(name).parent if name else "prompts")
        try:
            own = workflow_of(state, leaf.place).config.partials
            parsed = prompts.parse_prompt(prompt.text, folder=folder, name=name, partials=own)
            return prompts.render(parsed, _Names(state, leaf)).strip()
        except (PromptError, ExprError, NeedFact):
            return as_written(state, leaf)

    return render


class _Names(Mapping[str, Any]):
    def __init__(self, state: State, leaf: Leaf) -> None:
        self._here = InstanceNames(state, leaf)

    def __getitem__(self, name: str) -> Any:
        return "" if name == "feedback" else self._here.lookup(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
