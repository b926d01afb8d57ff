"""The page of the built-in schemas, in the short hand in which a file would write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium.workflow.contracts.builtin import SHORTHAND
from tools.pages import markdown

INTRO = """\
`output: {schema: Plan}` names one of these. They are written here in the short hand that a file of yours can use as
well: a type for each field, `[T]` for a list, words between bars for a choice, `optional` for a field that may be
left out, and `"*"` for any key. [workflow.md](workflow.md#output) tells the rest. Lists are required and may be
empty."""

USES = {
    "Plan": "What a planner answers.",
    "Feature": "What `build` expands.",
    "Phase": "One phase of a feature; what the `design` of a `build` answers.",
    "Review": "What a reviewer answers; the verdict is taken from it.",
    "Audit": "Scores by criterion, with what to do about them.",
    "QualityGate": "What the judge of a review with `verdict: quality_gate` answers. `scores` and `issues` may be missing.",
    "Decision": "What the breaker's advisor answers.",
    "Implementation": "What an agent can report about its own work. `tests_changed` may be missing.",
}


def page() -> str:
    return markdown.page("Built-in schemas", INTRO, *map(_section, SHORTHAND))


def _section(name: str) -> str:
    fields = "\n".join(_lines(SHORTHAND[name], ""))
    return f"## {name}\n\n{USES[name]}\n\n```text\n{fields}\n```"


def _lines(fields: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, described in fields.items():
        key = f'"{name}"' if name == "*" else name
        match described:
            case str():
                yield f"{indent}{key}: {described}"
            case {}:
                yield f"{indent}{key}:"
                yield from _lines(described, indent + "  ")
            case [str(inner)]:
                yield f"{indent}{key}: [{inner}]"
            case _:
                [inner] = described
                first, *rest = _lines(inner, indent + "    ")
                yield f"{indent}{key}:"
                yield f"{indent}  - {first.strip()}"
                yield from rest
