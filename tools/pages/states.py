"""The page of phases: the lifecycle table as it runs, as diagrams and as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from podium.core.evolve.lifecycle import TABLE, Kind
from podium.core.state import Phase
from tools.pages import markdown
from tools.pages.markdown import code, codes, table

INTRO = """\
An instance is a step as it exists in a run. It is a leaf, which does one thing, or a scope, which holds other
instances. The table below is the one that `evolve` runs on: an event that it does not allow is an error, never
ignored. Where two phases follow, the second is for an answer that is not the last one yet, such as a reminder or
the first of two approvals."""

PHASES = {
    "ready": "entered; waits for a slot, for money, for a fact or for a joined tree",
    "working": "an attempt is in flight",
    "answered": "the attempt or the wait is over; gates and questions live below it now",
    "paused": "the next attempt comes later: a backoff or a quota window",
    "waiting": "for a person, a signal, a timer or something else outside",
    "open": "its children are entered, run and end",
    "ended": "it has an outcome; nothing changes it any more",
}

CANCEL = """\
`CancelOrdered` is allowed in every phase but `ended` and leaves the phase as it is: the instance is marked, ends
what is in flight and then ends itself. It is left out of the diagrams."""


def page() -> str:
    return markdown.page(
        "States",
        INTRO,
        table(("phase", "meaning"), [(code(phase), PHASES[phase]) for phase in get_args(Phase)]),
        *(part for kind in get_args(Kind) for part in _kind(kind)),
        "## Cancelling",
        CANCEL,
    )


def _kind(kind: Kind) -> Iterator[str]:
    yield f"## {'Leaves' if kind == 'leaf' else 'Scopes'}"
    yield "```mermaid\n" + "\n".join(_diagram(kind)) + "\n```"
    rows = [(code(source), code(event), codes(targets)) for source, event, targets in _rows(kind)]
    yield table(("from", "event", "to"), [("", code("StepEntered"), code("ready")), *rows])


def _diagram(kind: Kind) -> Iterator[str]:
    yield "stateDiagram-v2"
    yield "    [*] --> ready: StepEntered"
    arrows: dict[tuple[str, str], list[str]] = {}
    for source, event, targets in _rows(kind):
        for target in targets:
            arrows.setdefault((source, target), []).append(event)
    for (source, target), names in arrows.items():
        yield f"    {source} --> {target}: {', '.join(names)}"
    yield "    ended --> [*]"


def _rows(kind: Kind) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for (owner, source), row in TABLE.items():
        for event, targets in row.items():
            if owner == kind and event.__name__ != "CancelOrdered":
                yield source, event.__name__, targets
