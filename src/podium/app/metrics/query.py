"""What a question to the history is about, and what its answer leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from podium.app.history.catch_up import CaughtUp
from podium.ports.history import LocalHistory
from podium.views.format import plural
from podium.views.metrics.uncertainty import ClusterSums

By: TypeAlias = Literal["agent", "model", "role", "step", "craft"]
WAYS: Final[tuple[By, ...]] = get_args(By)
FOREVER: Final = 1 << 62


class MetricsQuery(NamedTuple):
    since: int
    until: int
    """Times in milliseconds."""
    period: str
    """In words: `last 30 days`."""
    workflow: str | None = None
    project: str | None = None
    """The id of a project; None for all."""
    played: bool = False
    """Whether runs of scripted and recorded agents count."""
    by: By | None = None
    name: str = ""
    """Of the craft, the agent or the subject."""

    @property
    def values(self) -> dict[str, Any]:
        names = ("since", "until", "workflow", "project", "name")
        return {**{name: getattr(self, name) for name in names}, "played": int(self.played)}


class Source(NamedTuple):
    """The history with a question."""

    history: LocalHistory
    query: MetricsQuery
    caught_up: CaughtUp = CaughtUp()

    def rows(self, question: str) -> Sequence[tuple[Any, ...]]:
        return self.history.query(question, self.query.values)

    def population(self) -> Mapping[str, int]:
        names = (
            "runs",
            "workflows",
            "definitions",
            "landed",
            "usd",
            "unknown_calls",
            "tokens",
            "calls",
            "open",
            "passed",
            "priced_usd",
            "priced_runs",
        )
        return dict(zip(names, self.rows("population")[0], strict=True))

    @property
    def title(self) -> str:
        """The period, with the number of runs."""
        of = "" if self.query.workflow is None else f" of {self.query.workflow}"
        return f"{self.query.period}{of}: {plural(self.population()['runs'], 'run')}"

    def notes(self) -> tuple[str, ...]:
        """What every table leaves out."""
        population, notes = self.population(), []
        played = 0 if self.query.played else self.rows("played")[0][0]
        if played:
            notes.append(
                f"{plural(played, 'run')} of scripted or recorded agents left out; --played counts them"
            )
        if population["unknown_calls"]:
            notes.append(f"not in the costs: {plural(population['unknown_calls'], 'call')} without a price")
        if population["definitions"] > max(1, population["workflows"]):
            notes.append(
                f"{population['definitions']} definitions of {plural(population['workflows'], 'workflow')} are mixed"
            )
        if population["open"]:
            notes.append(f"{plural(population['open'], 'run')} not over yet")
        return (*notes, *self.caught_up.lines)


def sums_of(row: Sequence[Any]) -> ClusterSums:
    """The six sums that a query gives in a row."""
    return ClusterSums(float(row[0]), int(row[1]), float(row[2]), float(row[3]), float(row[4]), int(row[5]))
