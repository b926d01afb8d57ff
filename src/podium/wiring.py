"""The composition root: which adapters stand behind the ports, chosen in one place."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from podium.errors import ConfigurationError

if TYPE_CHECKING:
    from podium.app.office import Office
    from podium.attempt.site import Site
    from podium.core.chain import RunId
    from podium.core.model import Workflow
    from podium.ports import Agents, Sandbox, Store

STATE_DIR: Final = ".podium"
DATABASE: Final = "podium.db"


def open_store(project: Path, *, create: bool = False) -> Store:
    """The log of a project; without `create`, only one that is there."""
    from podium.adapters.stores.sqlite import SqliteStore

    path = project / STATE_DIR / DATABASE
    if not create and not path.exists():
        raise ConfigurationError(
            f"there are no runs in {project}", hint="start one with: podium run FILE, or look: podium demo"
        )
    return SqliteStore(path)


def open_office(project: Path, *, user_dir: Path | None = None, create: bool = False) -> Office:
    """Everything that the use cases of a project need."""
    from podium.app.office import Office

    store = open_store(project, create=create)
    return Office(
        project=project, state_dir=project / STATE_DIR, user_dir=user_dir, store=store, site_for=make_site
    )


def make_site(run: RunId, workflow: Workflow, project: Path, *, sandbox: str | None = None) -> Site:
    """Where a run works on this machine. `sandbox` is a level the user has typed."""
    from podium.attempt.site import Site
    from podium.git.repository import find
    from podium.process import Mask

    state_dir = project / STATE_DIR
    tag = hashlib.sha256(str(project).encode()).hexdigest()[:12]
    marker = f"{run}-{tag}"
    secrets = read_secrets(workflow, os.environ)
    return Site(
        run=run,
        workflow=workflow,
        project=project,
        state_dir=state_dir,
        work_dir=_cache_dir() / "work" / tag / run,
        repository=find(project, state_dir / "git", marker),
        agents=agents(),
        sandbox=choose_sandbox(sandbox),
        marker=marker,
        mask=Mask(secrets),
        secrets=secrets,
        host_env=dict(os.environ),
    )


def read_secrets(workflow: Workflow, env: Mapping[str, str]) -> dict[str, str]:
    """The values of the declared secrets. One that is missing is said before anything starts."""
    declared = tuple(workflow.config.get("secrets", ()))
    missing = [name for name in declared if not env.get(name)]
    if missing:
        raise ConfigurationError(
            f"secret {missing[0]} has no value", hint=f"set it in the environment: export {missing[0]}=..."
        )
    return {name: env[name] for name in declared}


def agents() -> Agents:
    from podium.adapters.agents.command import Command
    from podium.adapters.agents.scripted import Scripted

    return {"scripted": Scripted(), "command": Command()}


def choose_sandbox(level: str | None) -> Sandbox:
    """The strongest that is there, unless the user typed a weaker one."""
    from podium.adapters.sandboxes.limits import LimitsSandbox
    from podium.adapters.sandboxes.none import NoSandbox

    if level == "none":
        return NoSandbox()
    if level in (None, "auto", "limits"):
        return LimitsSandbox()
    raise ConfigurationError(
        f"sandbox {level} is not there yet", hint="available: none, limits; see docs/reference/not-yet.md"
    )


def _cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "podium"
