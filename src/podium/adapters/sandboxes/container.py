"""An image of its own around a process, by podman or docker: the programs are the image's, the workspace is lent to it.

The process is nobody's on the host, holds no capability, and has a read-only file system besides what is lent. There is
no way out to single hosts here: either no network or, if the user typed it, all of the host's.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import anyio

from podium.adapters.sandboxes.bubblewrap_argv import NOBODY
from podium.adapters.sandboxes.seccomp import AF_VSOCK
from podium.errors import ConfigurationError
from podium.ports.sandbox import Mount, SandboxPolicy
from podium.process.launch import Finished, Launch
from podium.process.output import OnOutput
from podium.process.procfs import MARKER_VARIABLE
from podium.process.run import completed
from podium.process.run import run as run_process

# The first that is there; fixed places, as for every program that stands around another.
ENGINES: Final = (Path("/usr/bin/podman"), Path("/usr/bin/docker"))
PROCESSES: Final = 1024
FILES: Final = 1024
PROBE_S: Final = 120.0
_OWN: Final = ("PATH", "HOME")
"""Variables in which the engine has values of its own: PATH is the image's, HOME is told."""


@dataclass(frozen=True, slots=True)
class Engine:
    program: Path
    options: tuple[str, ...] = ()


class ContainerSandbox:
    level: ClassVar[Literal["container"]] = "container"
    in_force: ClassVar[tuple[str, ...]] = (
        "files",
        "network",
        "processes",
        "users",
        "memory",
        "cpu",
        "core dumps",
    )

    def __init__(self, engine: Engine, image: str) -> None:
        self._engine = engine
        self._image = image
        self._is_root = os.geteuid() == 0
        self.owner: Final = (NOBODY, NOBODY) if self._is_root else None

    async def run(
        self, launch: Launch, walls: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        if walls.service is not None or (walls.network and walls.network != "open"):
            raise ConfigurationError(
                "level container has no way out to single hosts, nor to a model API with a key",
                hint="use bubblewrap for this step, or network: open, which leaves the whole network open",
            )
        name = f"podium-{secrets.token_hex(6)}"
        with _calls(self._engine) as calls:
            words = (*calls, *_words(walls, launch, name=name, is_root=self._is_root))
            argv = (*_command(self._engine), "run", *words, self._image, *launch.argv)
            try:
                return await run_process(_asked(launch, argv), on_output=on_output)
            finally:
                # What runs a container is a service and no child of ours: it may outlive whoever asked for it.
                with anyio.CancelScope(shield=True), suppress(OSError):
                    await run_process(_removal(self._engine, name, launch))


@contextmanager
def _calls(engine: Engine) -> Iterator[tuple[str, ...]]:
    profile = seccomp_profile() if engine.program.name == "podman" else None
    if profile is None:
        yield ()
        return
    with tempfile.NamedTemporaryFile("w", prefix="podium-", suffix=".json") as file:
        file.write(profile)
        file.flush()
        yield (f"--security-opt=seccomp={file.name}", "--security-opt=mask=/sys")


def find_engine(image: str) -> Engine:
    """The engine and how it works here, found out by running the image. Raises ConfigurationError with the reason."""
    if not image:
        raise ConfigurationError(
            "sandbox container needs an image", hint="sandbox: {level: container, image: python:3.12}"
        )
    found = _found(image)
    if isinstance(found, str):
        raise ConfigurationError(f'sandbox container with image "{image}": {found}')
    return found


def missing_engine() -> str:
    """Why no container can run here, as far as that is known without an image; empty if one may."""
    if any(program.exists() for program in ENGINES):
        return ""
    return "neither podman nor docker is installed; sudo apt-get install podman"


@cache
def _found(image: str) -> Engine | str:
    if missing_engine():
        return missing_engine()
    program = next(program for program in ENGINES if program.exists())
    said = ""
    # crun refuses machines with both kinds of control groups; runc does not.
    for options in ((), ("--runtime=runc",)) if program.name == "podman" else ((),):
        engine = Engine(program, options)
        with _calls(engine) as calls:
            done = completed(_probe(engine, calls, image))
        # 125: the engine itself could not. What an image without `true` says is the image's own affair.
        if done.exit_code in (0, 127):
            return engine
        said = said or (done.not_started or done.stderr.text()).strip()
    return f"{program.name} cannot run it: {said}"


def _probe(engine: Engine, calls: tuple[str, ...], image: str) -> Launch:
    name = f"podium-{secrets.token_hex(6)}"
    launch = Launch(
        argv=("true",),
        cwd=Path("/"),
        env={},
        marker=name,
        timeout_s=PROBE_S,
    )
    words = tuple(_words(SandboxPolicy(), launch, name=name, is_root=os.geteuid() == 0))
    return _asked(launch, (*_command(engine), "run", *calls, *words, image, "true"))


def _removal(engine: Engine, name: str, launch: Launch) -> Launch:
    argv = (*_command(engine), "rm", "--force", "--time=0", name)
    return replace(_asked(launch, argv), stdin=None, timeout_s=PROBE_S)


def _asked(launch: Launch, argv: tuple[str, ...]) -> Launch:
    """An engine without a service finds its images in the home of the user, not in that of the attempt."""
    home = os.path.expanduser("~")  # noqa: PTH111  # never fails, unlike Path.home()
    env = {**launch.env, "HOME": home, "PATH": os.environ.get("PATH", os.defpath)}
    return replace(launch, argv=argv, env=env, cwd=Path("/"), limits=None)


def _command(engine: Engine) -> tuple[str, ...]:
    return (str(engine.program), *engine.options)


def _words(walls: SandboxPolicy, launch: Launch, *, name: str, is_root: bool) -> Iterator[str]:
    user = (NOBODY, NOBODY) if is_root else (os.getuid(), os.getgid())
    yield from ("--rm", f"--name={name}", "--interactive", "--pull=never", "--read-only")
    yield from ("--cap-drop=all", "--security-opt=no-new-privileges", f"--user={user[0]}:{user[1]}")
    yield from ("--network=host" if walls.network == "open" else "--network=none", "--ipc=private")
    for fresh in ("/tmp", "/run", "/var/tmp"):  # noqa: S108  # fresh ones, which only this process has
        yield from ("--tmpfs", f"{fresh}:rw,nosuid,nodev,mode=1777")
    yield from (f"--pids-limit={PROCESSES}", f"--ulimit=nofile={FILES}:{FILES}", "--ulimit=core=0:0")
    yield f"--ulimit=nproc={PROCESSES}:{PROCESSES}"
    if walls.memory_bytes is not None:
        yield f"--memory={walls.memory_bytes}"
    if walls.cpus is not None:
        yield f"--cpus={walls.cpus:g}"
    # By name only: the engine takes the value from its own environment, and its arguments are there for all to read.
    yield from (f"--env={variable}" for variable in (*launch.env, MARKER_VARIABLE) if variable not in _OWN)
    if "HOME" in launch.env:
        yield f"--env=HOME={launch.env['HOME']}"
    shown = (*walls.mounts, *(Mount(folder, folder, writable=True) for folder in walls.writable))
    for mount in sorted(shown, key=lambda mount: len(mount.target.parts)):
        access = "" if mount.writable else ",ro"
        yield f"--mount=type=bind,source={mount.source},destination={mount.target}{access}"
    for folder in walls.hidden:
        yield from ("--tmpfs", f"{folder}:ro")
    yield f"--workdir={launch.cwd}"


PROFILES: Final = (Path("/etc/containers/seccomp.json"), Path("/usr/share/containers/seccomp.json"))
"""The engine's own, the user's before the shipped one. docker has its in itself, and that refuses namespaces."""

_NAMESPACES: Final = 0x7E020080
"""All flags of clone(2) that make one."""
_JUDGED: Final = frozenset({"clone", "clone3", "setns", "socket", "unshare"})
_ALLOW: Final = "SCMP_ACT_ALLOW"


def seccomp_profile() -> str | None:
    """What to hand to the engine; None leaves it to the engine."""
    found = next((path for path in PROFILES if path.is_file()), None)
    return None if found is None else json.dumps(tightened(json.loads(found.read_bytes())))


def tightened(own: dict[str, Any]) -> dict[str, Any]:
    rules = [
        {**rule, "names": [name for name in rule["names"] if name not in _JUDGED]} for rule in own["syscalls"]
    ]
    judged = [
        _rule("clone", _ALLOW, args=[_argument(_NAMESPACES, "SCMP_CMP_MASKED_EQ")]),
        # Its flags lie in memory, where no filter sees them; told that it does not exist, libraries take clone.
        _rule("clone3", "SCMP_ACT_ERRNO", errnoRet=38),
        _rule("socket", _ALLOW, args=[_argument(AF_VSOCK, "SCMP_CMP_NE")]),
    ]
    return {**own, "syscalls": [*(rule for rule in rules if rule["names"]), *judged]}


def _rule(name: str, action: str, **more: Any) -> dict[str, Any]:
    return {"names": [name], "action": action, "includes": {}, "excludes": {}, **more}


def _argument(value: int, comparison: str) -> dict[str, Any]:
    return {"index": 0, "value": value, "valueTwo": 0, "op": comparison}
