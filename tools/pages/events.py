"""The page of events: what each says, from its class and the texts beside its fields."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise
from typing import get_args

from podium.core import effects, events, types
from podium.core.evolve.lifecycle import TABLE
from tools.pages import markdown
from tools.pages.markdown import code, codes, table

INTRO = """\
An event is a fact about a run. The log of events is the truth; state, reports and screens are computed from it.
Every choice is exactly one event. Each carries `at`, the time of its turn in milliseconds. The types are those of
`podium.core.types` and `podium.core.payloads`."""


# To a reader of the code the names say it; a reader of the page has only these sentences.
SAYS = {
    "RunStarted": "A run of this workflow began, with these inputs, on this tree.",
    "StepExpanded": "A scope opened: from here on its number of children is a fact, and so are the items of a loop.",
    "AttemptStarted": "An attempt got its slot and its reservation, and is to be carried out.",
    "AttemptEnded": "An attempt is over: how, with which result, tree and verdict, and what it used.",
    "AttemptDoubted": "Nobody knows whether this attempt took effect before a crash, and it may not simply be repeated.",
    "AttemptQueued": "Another attempt is wanted at once, with this feedback.",
    "RetryScheduled": "Another attempt is wanted later: after a pause, or when a quota window opens.",
    "WaitStarted": "The run waits for something outside.",
    "WaitEnded": "What a step waited for has come, or has turned out badly.",
    "SignalReceived": "A signal has come that a step waited for.",
    "TimerFired": "A due time was reached: of a pause, a wait, a question or a block.",
    "ApprovalAsked": "People are asked, about this tree, until it expires.",
    "ApprovalGiven": "A person answered.",
    "FactsAsked": "An expression needs to know something about a tree.",
    "FactsFound": "The answer to that question.",
    "JoinAsked": "These trees are to be merged onto that one.",
    "JoinEnded": "The merged tree, and the members whose work did not get through.",
    "CancelOrdered": "This instance is no longer wanted; an attempt in flight is to be stopped.",
    "StepEnded": "An instance is over: its outcome, its result, and what its end means for those around it.",
    "JumpAsked": "A person wants to go back to a step of a running sequence.",
    "CancelAsked": "A person wants the run to end.",
    "RunPaused": "A person wants no further attempt to start.",
    "RunResumed": "A person lets attempts start again.",
    "GuidanceGiven": "A person has words for the agent that starts to work next.",
    "LimitRaised": "A person gives more than a limit allowed.",
    "RunEnded": "The run is over: its status, its exit code and its outputs.",
}


def page() -> str:
    run, instance = get_args(events.RunEvent), get_args(events.InstanceEvent)
    docs = _field_docs()
    return markdown.page(
        "Events",
        INTRO,
        f"The schema version is {events.SCHEMA_VERSION}. There are {len(run) + len(instance)} kinds.",
        _overview((*run, *instance)),
        "## About the run",
        *(_section(kind, docs) for kind in run),
        "## About one instance",
        *(_section(kind, docs) for kind in instance),
        "## Values that fields use",
        *_aliases(),
    )


def _overview(kinds: tuple[type, ...]) -> str:
    rows = [(f"[{kind.__name__}](#{kind.__name__.lower()})", _summary(kind), _effect(kind)) for kind in kinds]
    return table(("event", "what it says", "asks for"), rows)


def _summary(kind: type) -> str:
    return _doc(kind).split("\n\n")[0].replace("\n", " ")


def _doc(kind: type) -> str:
    """A dataclass of the standard library is given its signature as a text, where it has none of its own."""
    found = inspect.getdoc(kind) or ""
    return SAYS.get(kind.__name__, "") if not found or found.startswith(f"{kind.__name__}(") else found


def _effect(kind: type) -> str:
    """The effect that is pending once this event has happened."""
    found = _ASKED.get(kind.__name__, "")
    return code(found)


_ASKED = {
    "AttemptStarted": effects.RunAttempt.__name__,
    "CancelOrdered": effects.CancelAttempt.__name__,
    "RetryScheduled": effects.StartTimer.__name__,
    "StepExpanded": effects.StartTimer.__name__,
    "WaitStarted": effects.Watch.__name__,
    "ApprovalAsked": effects.AskPerson.__name__,
    "FactsAsked": effects.FindFact.__name__,
    "JoinAsked": effects.JoinTrees.__name__,
}


def _section(kind: type, docs: Mapping[tuple[str, str], str]) -> str:
    parts = [f"### {kind.__name__}", _doc(kind), _where(kind), _fields(kind, docs)]
    return "\n\n".join(part for part in parts if part)


def _fields(kind: type, docs: Mapping[tuple[str, str], str]) -> str:
    """The column of meanings only where a field has one; most say all by their name and type."""
    rows = [
        (code(one.name), code(str(one.type)), docs.get((kind.__name__, one.name), "")) for one in fields(kind)
    ]
    if any(meaning for _, _, meaning in rows):
        return table(("field", "type", "meaning"), rows)
    return table(("field", "type"), [row[:2] for row in rows])


def _where(kind: type) -> str:
    """The phases in which it may happen."""
    found = [f"{what} {phase}" for (what, phase), row in TABLE.items() if kind in row]
    return f"May happen to: {', '.join(found)}." if found else ""


def _field_docs() -> Mapping[tuple[str, str], str]:
    """The texts that stand below fields, by class and field."""
    return {
        (cls.name, name): text
        for cls in ast.parse(inspect.getsource(events)).body
        if isinstance(cls, ast.ClassDef)
        for name, text in _texts_below(cls.body)
    }


def _texts_below(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for one, following in pairwise(body):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            target = one.target.id
        elif isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
            target = one.targets[0].id
        else:
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            yield target, " ".join(inspect.cleandoc(str(following.value.value)).split())


def _aliases() -> Iterator[str]:
    texts = dict(_texts_below(ast.parse(inspect.getsource(events)).body))
    lent = _texts_below(ast.parse(inspect.getsource(types)).body)
    texts |= {name: text for name, text in lent if get_args(getattr(events, name, None))}
    for name, meaning in texts.items():
        said = get_args(getattr(events, name))
        listed = codes(said) if all(isinstance(word, str) for word in said) else ""
        yield f"**{name}**: {listed + '. ' if listed else ''}{meaning}"
