"""What `podium doctor --on` finds out about a server, its workers and the exchange."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from podium.errors import PodiumError
from podium.files.project_paths import ProjectPaths
from podium.git.exchange import check_exchange, exchange_of
from podium.git.repository import find


class ClusterCheck(NamedTuple):
    address: str
    exchange: str
    """The address of the git repository by which work travels; empty if none is known."""
    server: str = ""
    """Its version; empty if it does not answer."""
    encrypted: bool = False
    """Whether this machine has a key for histories."""
    searchable: bool = False
    """Whether runs can be found by whom they wait for."""
    workers: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    """The workers of this folder."""
    problems: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        yield f"cluster {self.address}: {f'server {self.server}' if self.server else 'not ready'}"
        if self.server:
            yield f"  workers   {', '.join(self.workers) or 'none'}"
            yield f"  home      {', '.join(self.home) or 'none; needed by work by hand, in place, and memories'}"
            yield f"  waiting   {'runs can be found by whom they wait for' if self.searchable else 'no search attributes'}"
            yield f"  histories {'encrypted' if self.encrypted else 'not encrypted: PODIUM_ENCRYPTION_KEY is not set'}"
        if self.exchange:
            yield f"  exchange  {self.exchange}"
        yield from (f"  problem   {problem}" for problem in self.problems)


def exchange_fault(folder: Path) -> tuple[str, str]:
    """The address of the exchange of the project in this folder, and why it does not work."""
    try:
        repository = find(folder, ProjectPaths(folder).trees)
        if repository is None:
            return "", f"{folder} is not in a git repository"
        url = exchange_of(repository, None)
    except PodiumError as error:
        return "", error.message
    return url, check_exchange(repository, url)
