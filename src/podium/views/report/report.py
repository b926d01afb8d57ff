"""What a report shows, before it is written as HTML or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.views.format import dollars
from podium.views.run.attempts import AttemptView
from podium.views.run.findings import ReviewHistory, in_view, reviews_of
from podium.views.run.view import RunView

if TYPE_CHECKING:
    from podium.core.model import Workflow

PARTS: Final = ("diff", "prompts", "output", "definition")
"""What `--without` can leave out."""


class Excerpt(NamedTuple):
    """A longer text with a title, such as the output of a gate; `cut` is how many lines were left out of its middle."""

    title: str
    text: str
    cut: int = 0


class Report(NamedTuple):
    view: RunView
    events: int
    log_head: str
    """The hash of the last event: an export of the run must have the same."""
    attempts: tuple[AttemptView, ...]
    decisions: tuple[Mapping[str, Any], ...]
    """The verdicts of gates, reviewers and people, in order."""
    version: str
    workflow: Workflow | None = None
    """None if its definition can no longer be read."""
    diff: Excerpt | None = None
    steps_between: tuple[Excerpt, ...] = ()
    """What changed from one attempt of a step to the next."""
    outputs: tuple[Excerpt, ...] = ()
    prompts: tuple[Excerpt, ...] = ()
    definition: tuple[Excerpt, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def reviews(self) -> tuple[ReviewHistory, ...]:
        return reviews_of(in_view(self.view.steps))

    @property
    def by_people(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(row for row in self.decisions if row["by"] not in ("gate", "reviewer"))


def cost_text(usd: float, unknown_calls: int) -> str:
    """The known cost, and how many calls are not in it."""
    if not unknown_calls:
        return dollars(usd)
    calls = "1 call" if unknown_calls == 1 else f"{unknown_calls} calls"
    return f"{dollars(usd)} and {calls} of unknown cost"


def cut_middle(text: str, most: int) -> tuple[str, int]:
    """The first and last lines of a text, and how many lines between them were left out."""
    lines = text.splitlines()
    if len(lines) <= 2 * most:
        return text, 0
    left_out = len(lines) - 2 * most
    return "\n".join((*lines[:most], f"[... {left_out} lines left out ...]", *lines[-most:])) + "\n", left_out


def costs_by_step(attempts: Iterable[AttemptView]) -> dict[str, tuple[int, int]]:
    """For each step with calls: what they cost, and how many have an unknown cost."""
    costs: dict[str, tuple[int, int]] = {}
    for each in attempts:
        if each.calls or each.unknown_calls:
            usd, unknown = costs.get(each.path, (0, 0))
            costs[each.path] = (usd + each.usd, unknown + each.unknown_calls)
    return costs
