"""`podium worker`: perform attempts of runs that a server gives to several machines."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import click

from podium.errors import ConfigurationError
from podium.files.project_paths import cache_dir
from podium.frontends.cli.service_lines import print_line

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
@click.option("--name", help="Name of the worker in messages.  [default: host and process]")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print each action as a JSON line; its schema: podium schema --of serve.",
)
def command(
    address: str, labels: tuple[str, ...], slots: int, folder: Path | None, name: str | None, as_json: bool
) -> int:
    """Perform attempts of runs that were started with `podium run --on ADDRESS`, until stopped.

    The worker checks each run out of the repository that the run names, with this machine's git logins. Keys and
    logins of agents, and secrets, come from this machine; an attempt that needs what this machine lacks is passed
    on. SIGTERM and Ctrl-C hand active attempts back: they are performed again elsewhere.
    """
    from podium.cluster import run_worker
    from podium.wiring import host_for_run

    with _own_folder(folder) as own:
        run_worker(
            address,
            folder=own,
            name=name or f"{socket.gethostname()}:{os.getpid()}",
            labels=labels,
            slots=slots,
            host_for=host_for_run,
            tell=partial(print_line, as_json=as_json, err=True),
        )
    if as_json:
        print_line("ended", "stopped", as_json=True)
    return 0


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
