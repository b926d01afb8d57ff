"""From a path to a workflow that can run, or to all that is wrong with it.

Text, templates and configuration become one document (merge); the document becomes typed values (schema); these
are checked (fit, lint) and, when nothing is wrong, compiled. Every stage that still can run does, so that all
problems are told at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.core.fast_dataclass import dataclass
from podium.workflow.gather import Session, gather_context
from podium.workflow.lint.check import check
from podium.workflow.problems import Problem, in_order

if TYPE_CHECKING:
    from podium.core.model import Workflow
    from podium.workflow.agent_capabilities import AgentTypes
    from podium.workflow.context import WorkflowSource


@dataclass(frozen=True, slots=True)
class Loaded:
    """`workflow` is None if a problem is more than a warning; `context` is None if there was nothing to read."""

    workflow: Workflow | None
    problems: tuple[Problem, ...]
    context: WorkflowSource | None = None
    paths: tuple[Path, ...] = ()
    """Every file that had a part in it."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.warning)


def load(
    path: Path | str,
    *,
    agent_types: AgentTypes,
    project: Path | None = None,
    user_dir: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    sandbox: str | None = None,
) -> Loaded:
    """`agent_types` are the agents that a file may name, with what each can do.

    `inputs` are values for the workflow's inputs; None leaves them unchecked, as `validate` does. `sandbox` is the strongest level that this machine has, if that is known.
    """
    session = Session(agent_types, project=project, user_dir=user_dir, overrides=overrides)
    gathered = gather_context(session, Path(path), inputs=inputs)
    problems = list(gathered.problems)
    if gathered.context is not None:
        problems += check(gathered.context, sandbox=sandbox)
    workflow = None
    if gathered.context is not None and not _has_errors(problems):
        workflow = _compiled(gathered.context, problems)
    return Loaded(workflow, in_order(problems), gathered.context, gathered.paths)


def _compiled(context: WorkflowSource, problems: list[Problem]) -> Workflow | None:
    # Imported only now: a file with mistakes is told about them without all this.
    from podium.workflow.compile.values import CompileContext
    from podium.workflow.compile.workflow import compile_workflow

    site = CompileContext(context)
    workflow = compile_workflow(site, fingerprint=fingerprint(context))
    problems += site.problems
    return None if _has_errors(problems) else workflow


def _has_errors(problems: Iterable[Problem]) -> bool:
    return any(not problem.warning for problem in problems)


def fingerprint(context: WorkflowSource) -> str:
    """The same only if nothing that the workflow says has changed, its prompts and children included.

    Keys are not sorted: the order of steps is part of what is said.
    """
    import hashlib

    return hashlib.sha256(definition_text(context).encode("utf-8", "surrogatepass")).hexdigest()


def definition_text(context: WorkflowSource) -> str:
    """All that a fingerprint covers; children stand in it by their own."""
    import json

    return json.dumps(_content(context), ensure_ascii=False, separators=(",", ":"))


def _content(context: WorkflowSource) -> dict[str, Any]:
    return {
        "document": context.raw,
        "texts": sorted(context.texts.items()),
        "schemas": dict(sorted(context.schemas.items())),
        "features": [feature.raw for feature in context.features.values()],
        "children": [fingerprint(child) for child in context.children.values()],
        **({"partials": context.partial_texts()} if context.partials else {}),
    }
