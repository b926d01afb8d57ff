"""Workflow files as an assistant lists and writes them: only inside the project, and only without mistakes."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from podium.app.author.load import check
from podium.app.author.workflow_files import is_workflow, workflow_files
from podium.app.query.runs import ENDED
from podium.app.run.definition import project_files
from podium.app.run.start import RunSource
from podium.errors import ConfigurationError, PathViolation
from podium.fast_dataclass import replace
from podium.files import atomic
from podium.files.inside import inside

if TYPE_CHECKING:
    from podium.app.author.load import Checked
    from podium.app.project import Project
    from podium.core.model import Workflow

MAX_BYTES: Final = 256 * 1024
SUFFIXES: Final = (".yaml", ".yml")


def list_workflows(project: Project) -> Iterator[dict[str, Any]]:
    """Every workflow file of the project, with the inputs of those without mistakes."""
    for name in workflow_files(project.root):
        checked = check(project.root / name, user_dir=project.user_dir)
        yield {"path": name, "mistakes": len(checked.errors), **_described(checked.workflow)}


def _described(workflow: Workflow | None) -> dict[str, Any]:
    if workflow is None:
        return {}
    inputs = [
        {
            "name": each.name,
            "type": each.type,
            "required": each.required,
            "default": each.default,
            "help": each.help,
        }
        for each in workflow.inputs
    ]
    return {
        "name": workflow.name,
        "description": workflow.description,
        "inputs": inputs,
        "steps": [step.name for step in workflow.body.steps],
    }


def write_workflow(project: Project, path: str, text: str) -> Checked:
    """Write a workflow file and return its warnings; raises, and writes nothing, if it has mistakes."""
    target = _target(project, path)
    if len(text.encode()) > MAX_BYTES:
        raise ConfigurationError(f"{path} would be larger than {MAX_BYTES} bytes")
    new_folders = [folder for folder in target.parents if not folder.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    checked = _checked(project, target, text)
    if checked.errors:
        for folder in new_folders:
            folder.rmdir()
        lines = "\n".join(problem.render() for problem in checked.errors)
        raise ConfigurationError(f"{path} was not written, because it has mistakes:\n{lines}")
    atomic.write(target, text.encode(), mode=0o644)
    return checked


def _target(project: Project, path: str) -> Path:
    target = inside(project.root, path)
    relative = PurePosixPath(target.relative_to(project.root.resolve()))
    if relative.suffix not in SUFFIXES or any(part.startswith(".") for part in relative.parts):
        raise PathViolation(
            f'"{path}" is not a place for a workflow', hint="a name ending in .yaml, in no hidden folder"
        )
    if target.exists() and not is_workflow(str(target)):
        raise ConfigurationError(f'"{path}" exists and is not a workflow', hint="choose another name")
    run = _run_that_uses(project, str(relative))
    if run is not None:
        raise ConfigurationError(
            f'"{path}" is used by run {run}, which has not ended',
            hint="choose another name, or wait until the run has ended",
        )
    return target


def _run_that_uses(project: Project, relative: str) -> str | None:
    for head in project.runtime.heads():
        if head.status not in ENDED:
            file = RunSource.of(head).file
            if relative == file or relative in project_files(project, Path(file), head):
                return head.run
    return None


def _checked(project: Project, target: Path, text: str) -> Checked:
    """The problems that the file would have in its place; files that it includes are found beside it."""
    draft = target.with_name(f".{target.stem}-{secrets.token_hex(4)}{target.suffix}")
    atomic.write(draft, text.encode())
    try:
        checked = check(draft, user_dir=project.user_dir)
    finally:
        draft.unlink(missing_ok=True)
    name = str(target.relative_to(project.root.resolve()))
    problems = (
        replace(each, file=name) if each.file.endswith(draft.name) else each for each in checked.problems
    )
    return replace(checked, path=target, problems=tuple(problems))
