"""What the Tab key offers for arguments: runs, steps, open questions, workflow files, roles.

A shell starts `podium` for every press of the key and shows whatever it prints. So a completer reads as little as it can,
offers nothing where something is wrong, and imports what it needs only when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click
from click.shell_completion import CompletionItem

from podium.app.author.workflow_files import is_workflow, yaml_files
from podium.errors import PodiumError

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.ports.store import RunHead
    from podium.views.run.view import RunView

Items: TypeAlias = list[CompletionItem]
Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], Items]

SANDBOX_LEVELS: Final = ("auto", "container", "bubblewrap", "limits", "none")
MOST_RUNS: Final = 100


def _quietly(offer: Callable[[click.Context, str], Iterable[CompletionItem]]) -> Completer:
    """Nothing instead of an error, and nothing that a shell or a terminal would take for something else."""

    @wraps(offer)
    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> Items:
        try:
            items = list(offer(ctx, incomplete))
        except (PodiumError, OSError, ValueError):
            return []
        return [item for item in items if item.value.isprintable() and " " not in item.value]

    return complete


@_quietly
def complete_run(_: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    return (_run_item(head) for head in _heads(incomplete))


@_quietly
def complete_open_run(_: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    """Only runs that have not ended."""
    from podium.app.query.runs import ENDED

    return (_run_item(head) for head in _heads(incomplete) if head.status not in ENDED)


@_quietly
def complete_run_or_folder(_: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    runs: Items = []
    with suppress(PodiumError):
        runs.extend(_run_item(head) for head in _heads(incomplete))
    return runs or [CompletionItem(incomplete, type="dir")]


@_quietly
def complete_step(ctx: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    """Steps of the file or of the run that comes before it on the command line."""
    source = ctx.params.get("file") or ctx.params.get("source")
    if source and Path(source).is_file():
        names = _steps_of_file(Path(source))
    else:
        names = _steps_of_run(source or ctx.params.get("run"), incomplete)
    return (CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete))


@_quietly
def complete_question(ctx: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    """The open questions of the run."""
    pending = _view(ctx.params.get("run")).pending
    return (
        CompletionItem(question.path, help=question.kind)
        for question in pending
        if question.path.startswith(incomplete)
    )


@_quietly
def complete_role(_: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    from podium.app.author.roles import list_roles
    from podium.app.paths import project_root, user_dir

    roles = list_roles(project_root(Path.cwd()), user_dir=user_dir())
    return (
        CompletionItem(role.name, help=role.description) for role in roles if role.name.startswith(incomplete)
    )


@_quietly
def complete_memory(_: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    from podium.app.memories import summaries
    from podium.app.paths import project_root

    memories = summaries(project_root(Path.cwd()))
    return (
        CompletionItem(memory.name, help=f"{memory.files} files")
        for memory in memories
        if memory.name.startswith(incomplete)
    )


@_quietly
def complete_memory_file(ctx: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    """The files of the memory that was named."""
    from podium.app.memories import open_memory
    from podium.app.paths import project_root

    contents = open_memory(project_root(Path.cwd()), ctx.params.get("name") or "").contents
    return (CompletionItem(path) for path in contents if path.startswith(incomplete))


@_quietly
def complete_sandbox(_: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    return (CompletionItem(level) for level in SANDBOX_LEVELS if level.startswith(incomplete))


@_quietly
def complete_workflow(_: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Workflow files below the folder; if none fits, YAML files, which may be of another format; else any file."""
    files = [path for path in yaml_files(incomplete) if not path.endswith((".test.yaml", ".test.yml"))]
    items = [CompletionItem(path) for path in files if is_workflow(path)]
    return items or [CompletionItem(path) for path in files] or [CompletionItem(incomplete, type="file")]


@_quietly
def complete_workflow_or_run(_: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    files = [CompletionItem(path) for path in yaml_files(incomplete) if is_workflow(path)]
    with suppress(PodiumError):
        files.extend(_run_item(head) for head in _heads(incomplete))
    return files or [CompletionItem(incomplete, type="file")]


@_quietly
def complete_test_file(_: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    files = [path for path in yaml_files(incomplete) if path.endswith((".test.yaml", ".test.yml"))]
    return [CompletionItem(path) for path in files] or [CompletionItem(incomplete, type="file")]


@contextmanager
def _opened() -> Iterator[Project]:
    from podium.app.paths import project_root, user_dir
    from podium.wiring import open_project

    project = open_project(project_root(Path.cwd()), user_dir=user_dir())
    try:
        yield project
    finally:
        project.close()


def _heads(incomplete: str) -> tuple[RunHead, ...]:
    """The newest runs whose id begins like this."""
    with _opened() as project:
        return tuple(head for head in project.runtime.heads() if head.run.startswith(incomplete))[:MOST_RUNS]


def _view(run: str | None) -> RunView:
    with _opened() as project:
        return project.queries.show(project.run(run).run)


def _run_item(head: RunHead) -> CompletionItem:
    return CompletionItem(head.run, help=f"{head.workflow}, {head.status}")


def _steps_of_file(path: Path) -> Iterator[str]:
    from podium.app.author.load import open_workflow
    from podium.app.paths import project_root, user_dir
    from podium.core.queries.steps import all_steps

    workflow = open_workflow(path, user_dir=user_dir(), project=project_root(path.parent))
    return (step.name for _, step, _ in all_steps(workflow))


def _steps_of_run(run: str | None, incomplete: str) -> Iterator[str]:
    """Names; addresses as well once something was typed that only an address has."""
    steps = _view(run).steps
    yield from (step.step for step in steps if step.role != "gates")
    if any(sign in incomplete for sign in "/~#"):
        yield from (step.path for step in steps)
