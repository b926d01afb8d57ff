"""`podium worker`: perform attempts of runs that a server gives to several machines."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from podium.app.paths import project_root
from podium.errors import ConfigurationError
from podium.files.project_paths import cache_dir
from podium.frontends.cli.service_lines import print_line

if TYPE_CHECKING:
    from podium.attempt.host import Host
    from podium.core.hash_chain import RunId
    from podium.tasks.run_context import RunContext

ADDRESS_VARIABLE: Final = "PODIUM_ON"
MOST_WORKERS: Final = 100


@click.command("worker", short_help="Perform attempts of runs on a cluster.")
@click.option(
    "--on",
    "address",
    metavar="ADDRESS",
    envvar=ADDRESS_VARIABLE,
    required=True,
    help="The Temporal server, such as temporal://localhost:7233/default.  [env: PODIUM_ON]",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="LABEL",
    help="Also perform steps whose `runs_on` names this label; repeatable.",
)
@click.option(
    "--slots",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Maximum number of attempts at once, for each label and for steps without one.",
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for checkouts; no two workers share one.  [default: one in the cache]",
)
@click.option(
    "--home",
    is_flag=True,
    help="Also do what belongs into the project in this folder: work by hand, `workspace: inplace`, memories, "
    "`wait: {file}`, for runs that were started here.",
)
@click.option("--only", is_flag=True, help="Take nothing but what belongs to a --label or to --home.")
@click.option("--name", help="Name of the worker in messages.  [default: host and process]")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print each action as a JSON line; its schema: podium schema --of serve.",
)
def command(  # the options of the command
    address: str,
    labels: tuple[str, ...],
    slots: int,
    folder: Path | None,
    home: bool,
    only: bool,
    name: str | None,
    as_json: bool,
) -> int:
    """Perform attempts of runs that were started with `podium run --on ADDRESS`, until stopped.

    The worker checks each run out of the repository that the run names, with this machine's git logins. Keys and
    logins of agents, and secrets, come from this machine; an attempt that needs what this machine lacks is passed
    on. SIGTERM and Ctrl-C hand active attempts back: they are performed again elsewhere.
    """
    if only and not (labels or home):
        raise click.UsageError("--only needs a --label or --home")
    from podium.cluster import run_worker
    from podium.wiring import host_for_run

    root = _home(Path.cwd()) if home else None
    with _own_folder(folder) as own:
        run_worker(
            address,
            folder=own,
            name=name or f"{socket.gethostname()}:{os.getpid()}",
            labels=labels,
            slots=slots,
            host_for=host_for_run,
            home=root,
            home_host_for=_home_host,
            only=only,
            tell=partial(print_line, as_json=as_json, err=True),
        )
    if as_json:
        print_line("ended", "stopped", as_json=True)
    return 0


def _home(folder: Path) -> Path:
    root = project_root(folder)
    if not (root / ".git").exists():
        raise ConfigurationError(
            f"{root} is not in a git repository, so no run was started there",
            hint="--home: start the worker in the project",
        )
    return root


def _home_host(context: RunContext, project: Path) -> Host:
    """The host of the project from which a run was started, for what only that folder can do."""
    from dataclasses import replace

    from podium.wiring import host_for_run

    host = host_for_run(context, project)
    return replace(host, passed_steps=partial(_has_passed, project, context.id))


def _has_passed(root: Path, run: RunId, workflow: str, step: str) -> bool:
    """Also of a run that workers perform: its copy is brought up to date."""
    from podium.runtime.passed_steps import has_passed
    from podium.wiring import open_project

    project = open_project(root)
    try:
        return has_passed(project.runtime.heads, project.runtime.events, run, workflow, step)
    finally:
        project.close()


@contextmanager
def _own_folder(chosen: Path | None) -> Iterator[Path]:
    """A folder that no other worker uses."""
    folders = (
        [chosen.absolute()]
        if chosen is not None
        else [cache_dir() / "workers" / str(number) for number in range(1, MOST_WORKERS)]
    )
    for folder in folders:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield folder
            return
    raise ConfigurationError(f"another worker uses {folders[0]}", hint="choose another --dir")
