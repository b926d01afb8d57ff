"""The page of outcomes: which verb can end how, and what an outcome means without a route."""

from __future__ import annotations

from podium.core.types import CONTINUING_OUTCOMES, OUTCOMES, REASONS
from podium.workflow.outcomes import OUTCOMES_OF_VERB
from tools.pages import markdown
from tools.pages.markdown import code, codes, table

MEANING = {
    "passed": ("done and verified", "0"),
    "skipped": ("its `when` was false; counts as done for `needs`", "0"),
    "partial": ("some members passed, but fewer than `pass` asks for", "1"),
    "failed": (
        "not good enough after all attempts, or a block or loop that did not make it",
        "1; 5 after a limit",
    ),
    "rejected": ("a person or a reviewer rejected the work", "4 by a person, 1 by an agent"),
    "aborted": ("a person or a reviewer stopped the work", "4 by a person, 1 by an agent"),
    "blocked": ("the agent says that it cannot go on, and why", "1"),
    "timeout": ("its time ran out", "124"),
    "conflict": ("the work does not merge", "1"),
    "error": ("it could not be carried out", "1; 3 if a path leaves the project"),
    "cancelled": ("the run, or this part of it, was cancelled; cannot be routed", "130"),
}

INTRO = """\
A step ends in exactly one outcome out of the closed set of its verb. `on` routes outcomes; see
[workflow.md](workflow.md#outcomes-and-routes)."""

MORE = """\
A modifier or a gate adds outcomes to those of the verb:

- `when` adds `skipped`;
- `gates` add `failed`, and `aborted` if one of them is a `review` or a `human`;
- `for_each`, a list of agents or a parallel block adds `partial` and `failed`;
- `repeat` adds `failed`;
- `wait` with `poll` adds `failed`;
- where trees of parallel members are put together (`join: queue` or `{batch: n}`), `conflict` is added.

Some ends come from around a step. They can happen whatever its verb is, and where the table does not have them, `on`
cannot name them: in a graph `blocked`, because a step that it needs did not pass, and `conflict`, because the trees of
its needs clash; everywhere `error` with the reason `expression`, because an expression could not be evaluated, and
`failed` with the reason `limit`."""


def page() -> str:
    return markdown.page(
        "Outcomes",
        INTRO,
        "## What they mean",
        table(
            ("outcome", "meaning", "continues by default", "exit code without a route"),
            [
                (code(o), MEANING[o][0], "yes" if o in CONTINUING_OUTCOMES else "no", MEANING[o][1])
                for o in OUTCOMES
            ],
        ),
        "The exit code of a run is that of the first failure without a route, at any depth.",
        "## Which verb can end how",
        _matrix(),
        MORE,
        "## Reasons",
        "A reason says why, where the outcome alone does not tell. It is empty after a plain pass. It is one of "
        f"{codes(REASONS)}, or the name of an error such as `quota`, `auth` or `expression`.",
    )


def _matrix() -> str:
    columns = [outcome for outcome in OUTCOMES if any(outcome in ends for ends in OUTCOMES_OF_VERB.values())]
    rows = [
        (_verb(verb), "yes", *("yes" if outcome in ends else "" for outcome in columns))
        for verb, ends in OUTCOMES_OF_VERB.items()
    ]
    return table(("verb", code("passed"), *map(code, columns)), rows)


def _verb(verb: str) -> str:
    return "`role`, `agent`" if verb == "agent" else code(verb)
