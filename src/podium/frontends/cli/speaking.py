"""Shared by the commands that say something to a run: which run, which question, and who speaks."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable
from typing import Any

import click

from podium.app.looking import find_run, show
from podium.app.office import Office
from podium.core.chain import RunId
from podium.errors import ConfigurationError
from podium.views.run import Pending, RunView


def speaker(by: str | None) -> str:
    """Who answers: as said, as the environment says, or the user of this machine."""
    return by or os.environ.get("PODIUM_USER") or getpass.getuser()


by_option = click.option("--by", metavar="NAME", help="Who speaks; default $PODIUM_USER, or your login name.")
detach_option = click.option("--detach", is_flag=True, help="Let the run go on in the background.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the run as JSON when it stops.")


def run_named(office: Office, name: str | None) -> RunId:
    return find_run(office.store, name).run


def view_of(office: Office, run: RunId) -> RunView:
    head = find_run(office.store, run)
    return show(office.store, office.project, head, user_dir=office.user_dir)


def open_question(
    pending: tuple[Pending, ...], step: str | None, wanted: Callable[[Pending], bool], run: str
) -> Pending:
    """The question that is meant; without a name there must be exactly one."""
    open_ones = [each for each in pending if wanted(each)]
    if step is not None:
        named = [each for each in open_ones if each.path == step or _name(each.path) == step]
        if len(named) == 1:
            return named[0]
        if not named:
            raise ConfigurationError(
                f'"{step}" of run {run} does not wait for an answer', hint=_list(open_ones)
            )
        open_ones = named
    if not open_ones:
        raise ConfigurationError(f"run {run} does not wait for anybody", hint=f"see: podium show {run}")
    if len(open_ones) > 1:
        raise ConfigurationError(f"run {run} waits for several answers; name one", hint=_list(open_ones))
    return open_ones[0]


def parsed(value: str) -> Any:
    """JSON where it is JSON, else the words themselves."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _name(path: str) -> str:
    return path.rpartition("/")[2].partition("~")[0]


def _list(pending: list[Pending]) -> str:
    return "it waits at: " + ", ".join(each.path for each in pending) if pending else "it waits for nobody"
