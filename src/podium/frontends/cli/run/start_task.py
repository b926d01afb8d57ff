"""`podium start-task`: run the project's workflow for a task in words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.paths import project_root, user_dir
from podium.frontends.cli.open_run import agent_setting
from podium.frontends.cli.options import role_option, set_option
from podium.frontends.cli.output import say
from podium.frontends.cli.run.run import command as run_command
from podium.frontends.cli.shell_completion import complete_workflow

if TYPE_CHECKING:
    from podium.git.repository import Head


@click.command("start-task", short_help="Run the project's workflow for a task in words.")
@click.argument("text", metavar="TASK")
@click.option(
    "--workflow",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The workflow (default: the only one of this project that takes a task).",
    shell_complete=complete_workflow,
)
@click.option("--branch", metavar="NAME", help="Land on this branch, which is created if it does not exist.")
@click.option("--detach", is_flag=True, help="Run in the background and print the run id.")
@click.option(
    "--yes", is_flag=True, help="Answer Podium's own questions with yes; steps and gates still ask."
)
@role_option
@set_option
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON when it stops.")
def command(
    text: str,
    file: Path | None,
    branch: str | None,
    roles: tuple[str, ...],
    settings: tuple[str, ...],
    **options: bool,
) -> int:
    """Run a workflow for TASK, which becomes its input `task`, or the only text that it requires.

    The same as `podium run FILE -i task=TASK`, with its exit codes. `podium complete-task` merges the result.
    """
    from podium.app.tasks import find_task_workflow
    from podium.app.values import parse_settings

    root = project_root(Path.cwd())
    typed = parse_settings((*settings, *map(agent_setting, roles)))
    chosen = find_task_workflow(root, file, user_dir=user_dir(), settings=typed)
    say(f"{os.path.relpath(chosen.file)}: {text}", err=True)
    say(_from(root, branch), err=True)
    if branch is not None:
        settings = (*settings, f"git.branch={branch}")
    result: int = click.get_current_context().invoke(
        run_command,
        file=chosen.file,
        inputs=(f"{chosen.input}={text}",),
        roles=roles,
        settings=settings,
        **options,
    )
    return result


def _from(root: Path, branch: str | None) -> str:
    """Where the run starts, and where its work goes."""
    head = _head(root)
    goes = f"lands on {branch}" if branch else "podium complete-task merges the result"
    if head is None:
        return f"outside of git, in {root}"
    start = f"{head.branch or 'no branch'} at {(head.commit or 'no commit')[:10]}"
    return f"from {start}; {goes}"


def _head(root: Path) -> Head | None:
    from podium.files.project_paths import ProjectPaths
    from podium.git.repository import find, read_head

    repository = find(root, ProjectPaths(root).trees)
    return None if repository is None else read_head(repository)
