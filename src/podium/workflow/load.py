"""Loads a workflow from a path, or reports all that is wrong with it.

Text, templates and configuration become one document (merge), the document becomes typed values (schema), these are
checked (lint) and, without errors, compiled. Every stage that can still run does, so that all problems are reported
at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.fast_dataclass import dataclass
from podium.workflow.gather import LoadOptions, gather_context
from podium.workflow.lint.check import check
from podium.workflow.merge.config_layers import loosens_default
from podium.workflow.problems import Problem, in_order, with_labels

if TYPE_CHECKING:
    from podium.core.model import Workflow
    from podium.workflow.agent_capabilities import AgentTypes
    from podium.workflow.context import WorkflowSource


@dataclass(frozen=True, slots=True)
class Loaded:
    """`workflow` is None if there is an error; `context` is None if nothing could be read."""

    workflow: Workflow | None
    problems: tuple[Problem, ...]
    context: WorkflowSource | None = None
    paths: tuple[Path, ...] = ()
    """Every file that was read."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.warning)


def load(  # noqa: PLR0913  # each is a choice of the caller, by name
    path: Path | str,
    *,
    agent_types: AgentTypes,
    project: Path | None = None,
    user_dir: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    sandbox: str | None = None,
    is_started: bool = False,
    document: Mapping[str, Any] | None = None,
) -> Loaded:
    """`agent_types` are the agents that a file may name, with their capabilities.

    `inputs` are values for the workflow's inputs; None leaves them unchecked, as `validate` does. `sandbox` is the
    strongest level of this machine, if known. `is_started` says that a run has started with the file, which was accepted then
    with all that loosens the defaults. `document` is what the files meant when a stored run was started.
    """
    options = LoadOptions(
        agent_types, project=project, user_dir=user_dir, overrides=overrides, document=document
    )
    gathered = gather_context(options, Path(path), inputs=inputs)
    problems = [problem for problem in gathered.problems if not (is_started and loosens_default(problem))]
    if gathered.context is not None:
        problems += check(gathered.context, sandbox=sandbox)
    workflow = None
    if gathered.context is not None and not _has_errors(problems):
        workflow = _compile(gathered.context, problems)
    labels = None if gathered.context is None else gathered.context.file.labels
    if labels is not None:
        problems = [with_labels(problem, labels.steps) for problem in problems]
    return Loaded(workflow, in_order(problems), gathered.context, gathered.paths)


def _compile(context: WorkflowSource, problems: list[Problem]) -> Workflow | None:
    # Imported only now, so that a file with mistakes is reported without loading the compiler.
    from podium.workflow.compile.values import CompileContext
    from podium.workflow.compile.workflow import compile_workflow

    compile_context = CompileContext(context)
    workflow = compile_workflow(compile_context, fingerprint=fingerprint(context))
    problems += compile_context.problems
    return None if _has_errors(problems) else workflow


def _has_errors(problems: Iterable[Problem]) -> bool:
    return any(not problem.warning for problem in problems)


def fingerprint(context: WorkflowSource) -> str:
    """A hash of everything the workflow contains, its prompts and children included.

    Keys are not sorted, because the order of steps is part of the workflow.
    """
    import hashlib

    return hashlib.sha256(definition_text(context).encode("utf-8", "surrogatepass")).hexdigest()


def definition_text(context: WorkflowSource) -> str:
    """The text that a fingerprint covers; child workflows are included by their fingerprints."""
    import json

    return json.dumps(_content(context), ensure_ascii=False, separators=(",", ":"))


def _content(context: WorkflowSource) -> dict[str, Any]:
    # What starts runs is not part of what they do, so an edited trigger does not change a run.
    return {
        "document": {key: value for key, value in context.raw.items() if key != "triggers"},
        "texts": sorted(context.texts.items()),
        "schemas": dict(sorted(context.schemas.items())),
        "features": [feature.raw for feature in context.features.values()],
        # A run in another repository has a definition of its own.
        "children": [
            fingerprint(child) for child in context.children.values() if child.project == context.project
        ],
        **({"partials": context.partial_texts()} if context.partials else {}),
    }
