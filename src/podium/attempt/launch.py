"""Builds the launch of a step's process: its environment, folder, limits and sandbox policy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final

from podium.attempt.host import Host
from podium.attempt.network import proxy_env
from podium.attempt.workspace.toolchain import MODULES, can_be_lent, path_outside, without_editable
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Agent, Step
from podium.core.step_settings import DEFAULT_BOUNDS, SandboxSettings
from podium.errors import ConfigurationError
from podium.files.inside import inside
from podium.git.workdir.folder import Owner, give_ownership
from podium.git.workdir.walk import open_folder
from podium.ports.agent import Progress
from podium.ports.sandbox import (
    Mount,
    OnDecision,
    Sandbox,
    SandboxPolicy,
    Service,
    ToolHandler,
    no_traffic,
    not_recorded,
)
from podium.process.disk import DiskBound
from podium.process.environment import minimal_env
from podium.process.launch import Heartbeat, Launch
from podium.tasks.report import AttemptResult
from podium.workflow.schema.fields import InvalidValue
from podium.workflow.schema.scalars import size

if TYPE_CHECKING:
    from podium.attempt.workspace.workspace import Workspace


def build_launch(  # noqa: PLR0913  # what differs from launch to launch; the rest is the step's
    host: Host,
    step: Step,
    names: Names,
    workspace: Workspace,
    *,
    argv: tuple[str, ...],
    extra_env: Mapping[str, str] | None = None,
    stdin: bytes | Path | None = None,
    timeout_s: float,
    reads: tuple[Path, ...] = (),
    network: str | tuple[str, ...] | None = None,
    service: Service | None = None,
    on_decision: OnDecision = not_recorded,
    tools: ToolHandler | None = None,
    plain: bool = False,
) -> tuple[Launch, SandboxPolicy]:
    """The process to start and its sandbox policy. Raises PathViolation, ConfigurationError, ExprError."""
    heartbeat = None if service is None else Heartbeat()
    policy = _policy(
        host,
        step,
        names,
        workspace,
        reads=reads,
        network=network,
        service=service,
        on_decision=on_decision,
        on_traffic=no_traffic if heartbeat is None else heartbeat.beat,
        tools=tools,
    )
    launch = Launch(
        argv=argv,
        cwd=folder_of(host, step, names, workspace),
        env=environment(host, step, names, workspace, {**(extra_env or {}), **proxy_env(host, step, policy)}),
        marker=host.marker,
        stdin=stdin,
        timeout_s=timeout_s,
        heartbeat=heartbeat,
        mask=host.mask,
        plain=plain,
        spill_dir=host.run_dir / "outputs",
    )
    return launch, policy


def folder_of(host: Host, step: Step, names: Names, workspace: Workspace) -> Path:
    """The working directory of a step, as seen in the sandbox. Raises PathViolation if it is outside the workspace."""
    named = as_text(fill(step.settings.dir or ".", names), Meter())
    if named == ".":
        return workspace.mount_path
    folder = inside(workspace.folder, named)
    if not folder.exists() and _is_to_be_made(step, named):
        _make_folder(folder, host.sandbox_of(step).owner)
    if not folder.is_dir():
        raise ConfigurationError(f'dir "{named}" of step "{step.name}" is not a folder of the tree')
    return workspace.mount_path / folder.relative_to(inside(workspace.folder, "."))


def _is_to_be_made(step: Step, folder: str) -> bool:
    """Whether an agent is to write its files into this folder; git keeps no empty folder that it could find there."""
    works = isinstance(step.verb, Agent) and not step.verb.judge
    return works and isinstance(step.touches, tuple) and f"{folder.rstrip('/')}/**" in step.touches


def _make_folder(folder: Path, owner: Owner | None) -> None:
    topmost = folder
    while not topmost.parent.exists():
        topmost = topmost.parent
    folder.mkdir(parents=True)
    give_ownership(topmost, owner)


def environment(
    host: Host, step: Step, names: Names, workspace: Workspace, extra: Mapping[str, str]
) -> dict[str, str]:
    """A minimal environment with the variables of the step's `env` and the secrets it names (R184, C15)."""
    passed, own = declared_env(step, names)
    env = minimal_env(
        {
            **own,
            **{f"PODIUM_PORT_{number}": str(port) for number, port in enumerate(workspace.ports, start=1)},
            **({} if workspace.memory is None else {"PODIUM_MEMORY": str(workspace.memory)}),
            **extra,
            "HOME": str(workspace.home),
            "TMPDIR": str(workspace.tmp),
            # A checkout has no .git; git must not find a repository in a parent folder.
            "GIT_CEILING_DIRECTORIES": str(workspace.mount_path.parent),
        },
        _secrets(host, step),
        inherit=passed,
        host=host.host_env,
    )
    lent = host.toolchain if workspace.kind == "project" else workspace.links
    env["PATH"] = without_editable(host.project, host.sandbox_of(step).level, env["PATH"])
    if "PATH" not in own and "PATH" not in extra:
        env["PATH"] = path_outside(host.project, env["PATH"], lent) or os.defpath
    return env


def sandbox_record(sandbox: Sandbox, policy: SandboxPolicy) -> AttemptResult:
    """The sandbox level for the log, whether the network was open, and what this machine cannot limit."""
    record: AttemptResult = {"sandbox": sandbox.level}
    if policy.network == "open":
        record["network"] = "open"
    if sandbox.unbounded:
        record["unbounded"] = list(sandbox.unbounded)
    return record


def note(text: str) -> Progress:
    return Progress("note", text)


def declared_env(step: Step, names: Names) -> tuple[list[str], dict[str, str]]:
    """The names of variables that a step inherits, and the variables that it sets."""
    passed: list[str] = []
    own: dict[str, str] = {}
    for entry in step.settings.env:
        name, sign, value = as_text(fill(entry, names), Meter()).partition("=")
        if sign:
            own[name] = value
        else:
            passed.append(name)
    return passed, own


def _secrets(host: Host, step: Step) -> dict[str, str]:
    declared = step.settings.secrets
    for name in declared:
        if name not in host.secrets:
            raise ConfigurationError(
                f'secret "{name}" of step "{step.name}" has no value', hint=f"set {name} in your environment"
            )
    return {name: host.secrets[name] for name in declared}


def _policy(
    host: Host,
    step: Step,
    names: Names,
    workspace: Workspace,
    *,
    reads: tuple[Path, ...],
    network: str | tuple[str, ...] | None,
    **outward: Any,
) -> SandboxPolicy:
    sandbox = step.settings.sandbox
    allowed = step.settings.network if network is None else network
    cpu = fill(sandbox.cpu, names)
    own = (workspace.home, workspace.tmp)
    folders = own if workspace.memory is None else (*own, workspace.memory)
    return SandboxPolicy(
        writable=folders,
        mounts=(*_mounts(host, step, workspace), *(Mount(path, path, origin="host") for path in reads)),
        hidden=(host.state_dir,) if workspace.kind == "project" and host.state_dir.is_dir() else (),
        network="open" if allowed == "open" else tuple(allowed or ()),
        memory_bytes=_bytes(fill(sandbox.memory, names)),
        cpus=float(cpu) if isinstance(cpu, int | float) else None,
        processes=_bound(sandbox, "processes"),
        disk=DiskBound(
            folders=(workspace.folder, *folders),
            bytes=_bound(sandbox, "disk"),
            files=_bound(sandbox, "files"),
            since_ns=workspace.opened_ns,
            skipped=(host.state_dir,),
        ),
        scratch_bytes=_bound(sandbox, "scratch"),
        **outward,
    )


def _bound(sandbox: SandboxSettings, name: str) -> int:
    declared = getattr(sandbox, name)
    return DEFAULT_BOUNDS[name] if declared is None else int(declared)


_VITE: Final = f"{MODULES}/.vite-temp"
"""Where vite and vitest write their configuration before they load it; they leave the folder there."""


def _mounts(host: Host, step: Step, workspace: Workspace) -> Iterator[Mount]:
    """Mounts the workspace in the project's place with the project's toolchain; read-only for a judge."""
    judges = isinstance(step.verb, Agent) and step.verb.judge
    yield Mount(workspace.folder, workspace.mount_path, writable=not judges)
    # A command in the project itself may install packages; in a workspace the user's toolchain is only lent.
    changeable = host.toolchain if workspace.kind == "project" else ()
    for name in dict.fromkeys((*workspace.links, *changeable)):
        # An earlier process may have put a link at either place, which would redirect the mount.
        if _is_folder(workspace.folder, name) and can_be_lent(host.project, name):
            yield Mount(
                host.project / name,
                workspace.mount_path / name,
                writable=name not in workspace.links,
                origin="lent",
            )
    if MODULES in workspace.links and not judges and _is_folder(host.project, _VITE):
        yield Mount(_new_folder(workspace.tmp), workspace.mount_path / _VITE, writable=True)
    if workspace.has_history and _is_folder(workspace.folder, ".git"):
        yield Mount(workspace.folder / ".git", workspace.mount_path / ".git")
    if workspace.kind == "project" and (host.project / ".git").exists():
        # Read-only, because the user's next git command would run a hook or filter written there.
        yield Mount(host.project / ".git", host.project / ".git")


def _new_folder(tmp: Path) -> Path:
    """A new folder, which no earlier process can have replaced by a link; inside the sandbox it may be another user's."""
    folder = Path(mkdtemp(prefix="vite-", dir=tmp))
    folder.chmod(0o777)
    return folder


def _is_folder(root: Path, name: str) -> bool:
    try:
        with open_folder(root, name):
            return True
    except OSError:
        return False


def _bytes(text: Any) -> int | None:
    try:
        return None if text is None else size(text)
    except InvalidValue as error:
        raise ConfigurationError(
            f'sandbox.memory "{text}" is not a size', hint='write it as "512m" or "2g"'
        ) from error
