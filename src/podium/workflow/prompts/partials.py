"""The parts of prompts that Podium writes itself, as files: shipped ones, and replacements by a user or a project.

A partial gets facts and puts them into words. A diff, a file or an output is passed to it inside its fence, so that no
partial can remove the fence; text written by others is a value and is never read as a template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.problems import Problem
from podium.workflow.source.files import SHIPPED, display_name, is_inside

FOLDER: Final = "partials"
SUFFIX: Final = ".md"
PATH_RULE: Final = 24
PROMPT_RULE: Final = 20
MAX_CHARS: Final = 100_000
"""The maximum size of a partial."""


@dataclass(frozen=True, slots=True)
class Partial:
    about: str
    names: Mapping[str, tuple[str, ...]]
    """The names it may read, each with its fields if it is a map."""
    needed: tuple[str, ...] = ()
    """The names it must read, because the answer could not be understood without them."""


_STEP: Final = ("name", "description")

PARTIALS: Final[Mapping[str, Partial]] = MappingProxyType(
    {
        "advice": Partial(
            "The question to the advisor of a breaker",
            {"where": (), "rule": (), "situation": ()},
            ("situation",),
        ),
        "answer": Partial(
            "The required form of the answer", {"kind": (), "choices": (), "shape": ()}, ("choices", "shape")
        ),
        "approvals": Partial("What people decided about calls of tools", {"decisions": ()}, ("decisions",)),
        "excerpt": Partial(
            "The part of the workflow that a worker needs to know",
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
            "Results of earlier attempts: the latest in full, the others in short",
            {"heading": (), "latest": (), "earlier": ()},
            ("latest",),
        ),
        "notes": Partial("What others left for a worker", {"notes": ()}, ("notes",)),
        "team": Partial(
            "Who a worker may ask, what it was asked, and the replies to its asks",
            {
                "name": (),
                "colleagues": (),
                "replies": (),
                "message": ("sender", "question", "files", "so_far", "is_review"),
                "only_answers": (),
                "turn": ("person", "number", "most", "until", "is_over"),
                "turns": (),
                "tools": (),
            },
            ("message", "replies", "turns"),
        ),
        "files": Partial(
            "The files that `context` includes",
            {
                "changes": ("wanted", "diff", "cut"),
                "files": (),
                "likely": (),
                "tree": (),
                "left_out": (),
                "binary": (),
            },
            ("files",),
        ),
        "findings": Partial(
            "Findings of a review that are not fixed", {"findings": (), "summary": ()}, ("findings",)
        ),
        "event": Partial(
            "Says which inputs were written outside of the project, for a run that an event started",
            {"trigger": (), "inputs": ()},
            ("inputs",),
        ),
        "guidance": Partial("Guidance from a person for this attempt", {"guidance": ()}, ("guidance",)),
        "judged": Partial(
            "The work that a reviewer judges, quoted as data",
            {
                "nonce": (),
                "has_diff": (),
                "paths": (),
                "diff": (),
                "cut": (),
                "whole": (),
                "too_long": (),
                "asked": ("step", "text"),
                "inputs": (),
                "since": (),
                "plan": (),
                "results": (),
                "findings": (),
                "disputed": (),
                "disputed_diff": (),
            },
            ("nonce", "diff", "results", "findings"),
        ),
        "memory": Partial(
            "The memory that the step names, quoted as data",
            {"name": (), "folder": (), "files": (), "left_out": (), "max_files": (), "max_bytes": ()},
            ("files",),
        ),
        "outputs": Partial(
            "Answers of earlier steps that are longer than a line, whole or as files",
            {"whole": (), "files": (), "cut": ()},
            ("whole", "files", "cut"),
        ),
        "said": Partial(
            "The result of one gate, person or attempt, in a sentence",
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
            "The required form of a verdict",
            {"phrase": (), "anywhere": (), "shape": (), "nonce": (), "tree": (), "accepts_tests": ()},
            ("phrase", "shape", "nonce", "tree"),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class OwnPartial:
    """A partial written by a user or project: a replacement for a shipped one, or a new one for its own prompts."""

    name: str
    path: Path
    text: str
    display_name: str
    """The name of the file in messages."""


@dataclass(frozen=True, slots=True)
class OwnPartials:
    own: tuple[OwnPartial, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_partials(folders: Sequence[Path], project: Path, base: Path | None) -> OwnPartials:
    """The partials in these folders, in ascending precedence."""
    partials: dict[str, OwnPartial] = {}
    problems: list[Problem] = []
    for folder in folders:
        for path in sorted((folder / FOLDER).glob(f"*{SUFFIX}")):
            partial = _read(path, project, display_name(path, base))
            if isinstance(partial, Problem):
                problems.append(partial)
            else:
                partials[partial.name] = partial
    return OwnPartials(tuple(partials[name] for name in sorted(partials)), tuple(problems))


def _read(path: Path, project: Path, name: str) -> OwnPartial | Problem:
    if path.is_relative_to(project) and not is_inside(path, project):
        return Problem(name, 1, 1, PATH_RULE, f'"{path.name}" is a link out of the project')
    try:
        with path.open("rb") as file:
            text = file.read(MAX_CHARS + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return Problem(name, 1, 1, PROMPT_RULE, "cannot read this file as UTF-8")
    if len(text) > MAX_CHARS:
        return Problem(name, 1, 1, PROMPT_RULE, f"this partial is longer than {MAX_CHARS} characters")
    return OwnPartial(path.name, path, text, name)


def shipped_partial(name: str) -> str | None:
    """The text of a shipped partial by its file name; None if there is none."""
    is_shipped = name.endswith(SUFFIX) and name.removesuffix(SUFFIX) in PARTIALS
    return (SHIPPED / FOLDER / name).read_text("utf-8") if is_shipped else None
