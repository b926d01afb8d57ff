"""Opens and merges the pull request of a branch, with the program of the place where the repository is hosted.

`gh` or `glab` acts as the user, with the user's own login. Where neither is installed, a pushed branch is all there is.
"""

from __future__ import annotations

import os
import shutil
from typing import Final, Literal, TypeAlias

from podium.errors import ConfigurationError
from podium.git.command import run
from podium.git.repository import Repository, refs
from podium.process.environment import minimal_env
from podium.process.host_programs import host_path
from podium.process.launch import Finished, Launch
from podium.process.run import run_blocking

Program: TypeAlias = Literal["gh", "glab"]
PROGRAMS: Final[tuple[Program, ...]] = ("gh", "glab")
DEADLINE_S: Final = 120.0
HOSTS: Final[dict[str, Program]] = {"github": "gh", "gitlab": "glab"}
NAMES: Final = (
    "HOME USER LOGNAME XDG_CONFIG_HOME XDG_RUNTIME_DIR XDG_DATA_HOME XDG_STATE_HOME SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS "
    "GH_TOKEN GITHUB_TOKEN GH_HOST GH_CONFIG_DIR GITLAB_TOKEN GITLAB_HOST GLAB_CONFIG_DIR "
    "http_proxy https_proxy no_proxy HTTPS_PROXY NO_PROXY ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR"
).split()
"""What the programs need to act as the user."""


def default_remote(repository: Repository) -> str:
    """`origin`, or the only remote; raises if there is none to push to."""
    remotes = run(refs(repository), "remote").out.decode().split()
    if "origin" in remotes or len(remotes) == 1:
        return "origin" if "origin" in remotes else remotes[0]
    raise ConfigurationError(
        "the repository has no remote, so no pull request can be opened",
        hint="add one: git remote add origin URL" if not remotes else "call one of them origin",
    )


def program_for(repository: Repository, remote: str) -> Program | None:
    """The program of the remote's host, else the one that is installed; None if a pushed branch has to do."""
    url = run(refs(repository), "remote", "get-url", remote, codes=(0, 2)).out.decode()
    preferred = tuple(program for host, program in HOSTS.items() if host in url)
    return next((name for name in (*preferred, *PROGRAMS) if shutil.which(name, path=host_path())), None)


def open_request(repository: Repository, program: Program, branch: str, base: str, title: str) -> str:
    """The address of the branch's pull request, which is opened unless there is one."""
    show = {"gh": ("pr", "view", branch, "--json", "url", "--jq", ".url"), "glab": ("mr", "view", branch)}
    existing = _run(repository, (program, *show[program]))
    if existing.exit_code == 0:
        return _first_line(existing)
    body = "Opened by Podium."
    create = {
        "gh": ("pr", "create", "--head", branch, "--base", base, "--title", title, "--body", body),
        "glab": (
            *("mr", "create", "--source-branch", branch, "--target-branch", base),
            *("--title", title, "--description", body, "--yes"),
        ),
    }
    return _first_line(_checked(repository, (program, *create[program])))


def merge_request(repository: Repository, program: Program, branch: str) -> str:
    merge = {"gh": ("pr", "merge", branch, "--merge"), "glab": ("mr", "merge", branch, "--yes")}
    return _first_line(_checked(repository, (program, *merge[program])))


def _checked(repository: Repository, argv: tuple[str, ...]) -> Finished:
    done = _run(repository, argv)
    if done.exit_code:
        why = (done.not_started or done.stderr.record() or done.stdout.record()).strip()
        raise ConfigurationError(f"{' '.join(argv[:3])} failed: {why or f'exit {done.exit_code}'}")
    return done


def _run(repository: Repository, argv: tuple[str, ...]) -> Finished:
    own = {"GH_PROMPT_DISABLED": "1", "NO_PROMPT": "1", "PATH": host_path()}
    env = minimal_env(own, inherit=NAMES, host=os.environ)
    return run_blocking(
        Launch(argv=argv, cwd=repository.root, env=env, marker=repository.marker, timeout_s=DEADLINE_S)
    )


def _first_line(done: Finished) -> str:
    lines = done.stdout.record().strip().splitlines()
    return lines[-1].strip() if lines else ""
