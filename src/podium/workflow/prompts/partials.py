"""The parts of a prompt that Podium writes itself, as files: shipped ones, and those that a user or a project lays over
them.

A partial is given facts and finds the words. A diff, a file or an output reaches it only inside its fence, so that no
partial can take the fence away; and whatever others wrote is a value, which is never read as a template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.problems import Problem
from podium.workflow.source.files import SHIPPED, display_name, is_inside

FOLDER: Final = "partials"
SUFFIX: Final = ".md"
PATH_RULE: Final = 24
PROMPT_RULE: Final = 20
MOST: Final = 100_000
"""So many bytes of a file are read; words of that length nobody heeds."""


@dataclass(frozen=True, slots=True)
class Partial:
    about: str
    names: Mapping[str, tuple[str, ...]]
    """What it may read, each with its fields if it is a map."""
    needed: tuple[str, ...] = ()
    """What it has to read: without these the answer could not be taken."""


_STEP: Final = ("name", "description")

PARTIALS: Final[Mapping[str, Partial]] = MappingProxyType(
    {
        "advice": Partial(
            "What the advisor of a breaker is asked",
            {"where": (), "rule": (), "situation": ()},
            ("situation",),
        ),
        "answer": Partial(
            "How the answer has to look", {"kind": (), "choices": (), "shape": ()}, ("choices", "shape")
        ),
        "excerpt": Partial(
            "The part of the workflow that a worker has to know",
            {
                "step": _STEP,
                "workflow": ("name", "about"),
                "visit": (),
                "attempt": (),
                "before": (),
                "more": (),
                "success": (),
                "next": (),
                "routes": (),
                "judge": (),
                "blocked": (),
            },
        ),
        "feedback": Partial(
            "What came of earlier attempts: the latest in full, the others in short",
            {"heading": (), "latest": (), "earlier": ()},
            ("latest",),
        ),
        "files": Partial(
            "The files that `context` packs",
            {"changes": ("wanted", "diff", "cut"), "files": (), "left_out": (), "unknown": ()},
            ("files",),
        ),
        "findings": Partial(
            "What a review found and nobody has fixed", {"findings": (), "summary": ()}, ("findings",)
        ),
        "guidance": Partial("What a person has said to this attempt", {"guidance": ()}, ("guidance",)),
        "judged": Partial(
            "What a reviewer judges, all of it as data",
            {
                "nonce": (),
                "has_diff": (),
                "paths": (),
                "diff": (),
                "cut": (),
                "whole": (),
                "too_long": (),
                "since": (),
                "plan": (),
                "results": (),
                "findings": (),
            },
            ("nonce", "diff", "results", "findings"),
        ),
        "said": Partial(
            "What one gate, person or attempt had to say, in a sentence",
            {
                "kind": (),
                "name": (),
                "outcome": (),
                "reason": (),
                "message": (),
                "exit_code": (),
                "who": (),
                "attempt": (),
            },
            ("message",),
        ),
        "task": Partial("The task of a step that has no prompt", {"step": _STEP, "judge": ()}),
        "verdict": Partial(
            "How a verdict has to look",
            {"phrase": (), "shape": (), "nonce": (), "tree": ()},
            ("phrase", "shape", "nonce", "tree"),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class OwnPartial:
    """A partial that somebody wrote: one of Podium's in other words, or one for own prompts to include."""

    name: str
    path: Path
    text: str
    display_name: str
    """How messages call the file."""


@dataclass(frozen=True, slots=True)
class Shelf:
    own: tuple[OwnPartial, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_partials(homes: Sequence[Path], project: Path, base: Path | None) -> Shelf:
    """Those of the given homes, from the most distant to the nearest, which wins."""
    found: dict[str, OwnPartial] = {}
    problems: list[Problem] = []
    for home in homes:
        for path in sorted((home / FOLDER).glob(f"*{SUFFIX}")):
            known = _read(path, project, display_name(path, base))
            if isinstance(known, Problem):
                problems.append(known)
            else:
                found[known.name] = known
    return Shelf(tuple(found[name] for name in sorted(found)), tuple(problems))


def _read(path: Path, project: Path, name: str) -> OwnPartial | Problem:
    if path.is_relative_to(project) and not is_inside(path, project):
        return Problem(name, 1, 1, PATH_RULE, f'"{path.name}" leads out of the project')
    try:
        with path.open("rb") as file:
            text = file.read(MOST + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return Problem(name, 1, 1, PROMPT_RULE, "the file cannot be read as UTF-8")
    if len(text) > MOST:
        return Problem(name, 1, 1, PROMPT_RULE, f"a partial has at most {MOST} characters")
    return OwnPartial(path.name, path, text, name)


def shipped_partial(name: str) -> str | None:
    """By the name of its file."""
    is_one = name.endswith(SUFFIX) and name.removesuffix(SUFFIX) in PARTIALS
    return (SHIPPED / FOLDER / name).read_text("utf-8") if is_one else None
