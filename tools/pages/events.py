"""The page of events, generated from their classes and the docstrings of their fields."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise
from typing import get_args

from podium.core import effects, events, types
from podium.core.codec import STORED_NAMES
from podium.core.evolve.lifecycle import TABLE
from podium.core.payloads import SCHEMA_VERSION
from tools.pages import markdown
from tools.pages.markdown import code, codes, table

INTRO = """\
An event is a fact about a run. The log of events is the source of truth; state, reports and screens are computed from
it. Every decision is exactly one event. Each has `at`, the time of its turn in milliseconds. The types are those of
`podium.core.types` and `podium.core.payloads`."""


# In the code the names of these events are enough; the page needs a sentence.
SAYS = {
    "RunStarted": "A run of this workflow started, with these inputs, on this tree.",
    "StepExpanded": "A scope opened; the number of its children and the items of a loop are now fixed.",
    "AttemptStarted": "An attempt got a slot and a reservation and must be performed.",
    "AttemptTaken": "A person does the work of this attempt, in the agent's own program.",
    "AttemptGuided": "An agent was given guidance while it works, or could not be.",
    "AttemptEnded": "An attempt ended, with its result, tree, verdict and usage.",
    "AttemptDoubted": "It is not known whether this attempt took effect before a crash, and it must not be repeated without consent.",
    "AttemptLost": "The process that performed this attempt is gone; the attempt counts in full and is performed again.",
    "AttemptQueued": "Another attempt is queued, with this feedback.",
    "RetryScheduled": "Another attempt will follow later: after a delay, or when a quota resets.",
    "WaitStarted": "A step waits for something outside the run.",
    "WaitEnded": "What a step waited for has happened or failed.",
    "SignalReceived": "A step received the signal it waited for.",
    "TimerFired": "A timer is due: of a retry, a wait, a question or a block.",
    "ApprovalAsked": "People are asked about this tree, until the question expires.",
    "ApprovalGiven": "A person answered.",
    "FactsAsked": "An expression needs a fact about a tree.",
    "FactsFound": "A requested fact was found.",
    "JoinAsked": "The trees of these members must be merged onto another tree.",
    "JoinEnded": "A join ended, with the merged tree and the refused members.",
    "CancelOrdered": "This instance is cancelled; an attempt in flight must be stopped.",
    "StepEnded": "An instance ended, with its outcome, its result, and its effect on enclosing scopes.",
    "JumpAsked": "A person asked to return to a step of a running sequence.",
    "CancelAsked": "A person asked to cancel the run.",
    "RunPaused": "A person paused the run; no further attempt starts.",
    "RunResumed": "A person resumed the run; attempts start again.",
    "GuidanceGiven": "A person gave guidance for the next agent that starts.",
    "LimitRaised": "A person raised a limit.",
    "RunEnded": "The run ended, with its status, exit code and outputs.",
}


def page() -> str:
    run, instance = get_args(events.RunEvent), get_args(events.InstanceEvent)
    docs = _field_docs()
    return markdown.page(
        "Events",
        INTRO,
        f"The schema version is {SCHEMA_VERSION}. There are {len(run) + len(instance)} kinds.",
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
    """The docstring of an event; the standard `dataclass` sets the signature if there is none."""
    text = inspect.getdoc(kind) or ""
    return SAYS.get(kind.__name__, "") if not text or text.startswith(f"{kind.__name__}(") else text


def _effect(kind: type) -> str:
    """The effect that this event requests."""
    return code(_ASKED.get(kind.__name__, ""))


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
    """The table of fields, with a column of meanings if any field has one."""
    stored = STORED_NAMES.get(kind, {})
    rows = [
        (
            code(stored.get(field.name, field.name)),
            code(str(field.type)),
            docs.get((kind.__name__, field.name), ""),
        )
        for field in fields(kind)
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
