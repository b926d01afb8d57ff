"""Runs a process in a container image, by podman or docker, with the workspace mounted.

The process has no user on the host, no capabilities, and a read-only file system except for its mounts. Its network is
empty, has only the broker and the proxy, or is the host's if the user asked for that.
"""

from __future__ import annotations

import json
import os
import re
import resource
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import anyio

from podium.adapters.sandboxes import limits
from podium.adapters.sandboxes.bubblewrap_argv import NOBODY, SCRATCH, SHM
from podium.adapters.sandboxes.seccomp import AF_VSOCK
from podium.adapters.sandboxes.ways_out import needs_sockets, network_of_container
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.ports.sandbox import Mount, SandboxPolicy
from podium.process import cgroups
from podium.process.host_programs import host_path
from podium.process.launch import Finished, Launch
from podium.process.output import OnOutput
from podium.process.procfs import MARKER_VARIABLE
from podium.process.run import run as run_process
from podium.process.run import run_blocking

if TYPE_CHECKING:
    from podium.egress.hosts import Resolve

# The first that exists; fixed paths, as for every program that runs another.
ENGINES: Final = (Path("/usr/bin/podman"), Path("/usr/bin/docker"))
PROCESSES: Final = 1024
"""At most, if the policy does not say."""
OF_USER: Final = 32_768
FILES: Final = 1024
PROBE_S: Final = 120.0
LABEL: Final = "podium"
ABANDONED_AFTER: Final = "24h"
"""A container that is older was left by a process that was killed: no attempt takes so long."""
_OWN: Final = ("PATH", "HOME")
"""Variables that are not taken from the engine's environment: PATH is the image's, HOME is passed explicitly."""
_STEERS_ENGINE: Final = re.compile(
    r"LD_.*|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|MALLOC_.*|NLSPATH|RES_OPTIONS|LOCALDOMAIN|HOSTALIASES"
    r"|GO(?:DEBUG|GC|MAXPROCS|MEMLIMIT|TRACEBACK|COVERDIR)|TMPDIR|XDG_.*|_?CONTAINERS?_.*|BUILDAH_.*|STORAGE_(?:DRIVER|OPTS)"
    r"|DOCKER_(?:API_VERSION|CERT_PATH|CONFIG|CONTENT_TRUST.*|CONTEXT|CUSTOM_HEADERS|DEFAULT_PLATFORM|HOST|TLS.*)"
    r"|NOTIFY_SOCKET|LISTEN_.*|DBUS_.*|CONMON.*|NETAVARK.*|CNI_.*"
)
"""Variables by which a step could make the engine, outside of the container, load a library or use other settings."""


@dataclass(frozen=True, slots=True)
class Engine:
    program: Path
    options: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()
    """Options of a container that make its files those of the user who runs Podium."""


class ContainerSandbox:
    level: ClassVar[Literal["container"]] = "container"
    in_force: ClassVar[tuple[str, ...]] = (
        "files",
        "network",
        "processes",
        "users",
        "memory",
        "cpu",
        "number of processes",
        "disk by measuring",
        "folders in memory",
        "core dumps",
    )
    unbounded: ClassVar[tuple[str, ...]] = ()

    def __init__(self, engine: Engine, image: str, resolve: Resolve | None = None) -> None:
        """`resolve` looks up the hosts of a `network` list; the default is DNS."""
        self._resolve = resolve
        self._engine = engine
        self._image = image
        self.owner: Final = (NOBODY, NOBODY) if os.geteuid() == 0 else None

    async def run(
        self, launch: Launch, policy: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        async with self._network(launch, policy) as network:
            return await self._run(launch, policy, network, on_output)

    @asynccontextmanager
    async def _network(self, launch: Launch, policy: SandboxPolicy) -> AsyncIterator[str]:
        """The option that gives the container its network."""
        if not needs_sockets(policy):
            yield "--network=host" if policy.network == "open" else "--network=none"
            return
        if self.owner is None or self._engine.program.name != "podman":
            raise ConfigurationError(
                "sandbox container can give access to single hosts or to a model API only with podman, as root",
                hint="use bubblewrap for this step, or network: open for the whole network",
            )
        async with network_of_container(launch, policy, self.owner, self._resolve) as namespace:
            yield f"--network=ns:{namespace}"

    async def _run(
        self, launch: Launch, policy: SandboxPolicy, network: str, on_output: OnOutput | None
    ) -> Finished:
        name = f"podium-{secrets.token_hex(6)}"
        with _seccomp_options(self._engine) as calls:
            # Not `--rm`: if the engine's own clean-up is first, podman cannot read the exit code and reports 127.
            hidden = _cover(self._engine, policy.hidden)
            options = (
                *(*calls, *self._engine.identity, network),
                *(*_options(policy, launch, name=name), *hidden, f"--workdir={launch.cwd}"),
            )
            argv = (*_command(self._engine), "run", *options, self._image, *launch.argv)
            bounds = limits.bounds_of(policy, SCRATCH, cgroups.Groups())
            bounds = replace(bounds, main=partial(_main_process, self._engine, name, launch))
            try:
                return await run_process(
                    replace(_engine_launch(launch, argv), bounds=bounds), on_output=on_output
                )
            finally:
                # A container may run under a service and not as our child, so it can outlive the client.
                with anyio.CancelScope(shield=True), suppress(OSError):
                    await run_process(_removal(self._engine, name, launch))


@contextmanager
def _seccomp_options(engine: Engine) -> Iterator[tuple[str, ...]]:
    profile = seccomp_profile() if engine.program.name == "podman" else None
    if profile is None:
        yield ()
        return
    with tempfile.NamedTemporaryFile("w", prefix="podium-", suffix=".json") as file:
        file.write(profile)
        file.flush()
        yield (f"--security-opt=seccomp={file.name}", "--security-opt=mask=/sys")


def find_engine(image: str) -> Engine:
    """The engine and the options it needs here, found by running the image; raises ConfigurationError if none works."""
    if not image:
        raise ConfigurationError(
            "sandbox container needs an image", hint="sandbox: {level: container, image: python:3.12}"
        )
    engine = _working_engine(image)
    if isinstance(engine, str):
        raise ConfigurationError(f'sandbox container with image "{image}": {engine}')
    return engine


def missing_engine() -> str:
    """Why no container can run here, as far as known without an image; "" if one may."""
    if any(program.exists() for program in ENGINES):
        return ""
    return "neither podman nor docker is installed; run: sudo apt-get install podman"


@cache
def _working_engine(image: str) -> Engine | str:
    if missing_engine():
        return missing_engine()
    program = next(program for program in ENGINES if program.exists())
    message = ""
    # crun does not work on machines with both versions of control groups; runc does.
    all_options = ((), ("--runtime=runc",)) if program.name == "podman" else ((),)
    for options, identity in product(all_options, _identities(program)):
        engine = Engine(program, options, identity)
        # In a thread, because the first step with this image asks for it from within the event loop.
        with _seccomp_options(engine) as calls, ThreadPoolExecutor(1) as thread:
            finished = thread.submit(run_blocking, _probe(engine, calls, image)).result()
        # 125 means that the engine failed; 127 only means that the image has no `true`.
        if finished.exit_code in (0, 127):
            _remove_abandoned(engine)
            return engine
        message = message or (finished.not_started or finished.stderr.text()).strip()
    return f"{program.name} cannot run it: {message}"


def _remove_abandoned(engine: Engine) -> None:
    """Remove the ended containers that earlier processes could not remove, because they were killed."""
    filters = (f"--filter=label={LABEL}", f"--filter=until={ABANDONED_AFTER}")
    launch = Launch(
        argv=(*_command(engine), "container", "prune", "--force", *filters),
        cwd=Path("/"),
        env={},
        marker=f"podium-{secrets.token_hex(6)}",
        timeout_s=PROBE_S,
    )
    with ThreadPoolExecutor(1) as thread:
        thread.submit(run_blocking, _engine_launch(launch, launch.argv)).result()


def _identities(program: Path) -> tuple[tuple[str, ...], ...]:
    """In a container of an ordinary user of podman, other numbers than that of its root mean users that own nothing here.

    The number can be the same inside only if the machine has further ones for this user (/etc/subuid).
    """
    if os.geteuid() == 0:
        return ((f"--user={NOBODY}:{NOBODY}",),)
    own = f"--user={os.getuid()}:{os.getgid()}"
    return (("--userns=keep-id", own), ("--user=0:0",)) if program.name == "podman" else ((own,),)


def _probe(engine: Engine, calls: tuple[str, ...], image: str) -> Launch:
    name = f"podium-{secrets.token_hex(6)}"
    launch = Launch(
        argv=("true",),
        cwd=Path("/"),
        env={},
        marker=name,
        timeout_s=PROBE_S,
    )
    options = (*engine.identity, "--network=none", *_options(SandboxPolicy(), launch, name=name))
    return _engine_launch(launch, (*_command(engine), "run", "--rm", *calls, *options, image, "true"))


def _removal(engine: Engine, name: str, launch: Launch) -> Launch:
    argv = (*_command(engine), "rm", "--force", "--time=0", name)
    return replace(_engine_launch(launch, argv), stdin=None, timeout_s=PROBE_S)


async def _main_process(engine: Engine, name: str, launch: Launch) -> int | None:
    """The first process of the container, which may run under a service; None before it has started."""
    argv = (*_command(engine), "inspect", "--format={{.State.Pid}}", name)
    done = await run_process(replace(_engine_launch(launch, argv), stdin=None, timeout_s=PROBE_S))
    text = done.stdout.text().strip()
    return int(text) if done.exit_code == 0 and text.isdigit() and text != "0" else None


def _engine_launch(launch: Launch, argv: tuple[str, ...]) -> Launch:
    """The launch with the user's own HOME, where an engine without a service has its images."""
    home = os.path.expanduser("~")  # noqa: PTH111  # never fails, unlike Path.home()
    env = {name: value for name, value in launch.env.items() if not _steers_engine(name)}
    env |= {"HOME": home, "PATH": host_path()}
    return replace(launch, argv=argv, env=env, cwd=Path("/"), limits=None)


def _steers_engine(name: str) -> bool:
    return _STEERS_ENGINE.fullmatch(name) is not None


def _command(engine: Engine) -> tuple[str, ...]:
    return (str(engine.program), *engine.options)


def _options(policy: SandboxPolicy, launch: Launch, *, name: str) -> Iterator[str]:
    yield from (
        f"--name={name}",
        f"--label={LABEL}={launch.marker}",
        "--interactive",
        "--pull=never",
        "--read-only",
    )
    yield from ("--cap-drop=all", "--security-opt=no-new-privileges")
    yield "--ipc=private"
    size = "" if policy.scratch_bytes is None else f",size={policy.scratch_bytes}"
    for scratch in SCRATCH:
        if scratch != SHM:
            yield from ("--tmpfs", f"{scratch}:rw,nosuid,nodev,mode=1777{size}")
    if policy.scratch_bytes is not None:
        yield f"--shm-size={policy.scratch_bytes}"
    yield from (f"--pids-limit={policy.processes or PROCESSES}", "--ulimit=core=0:0")
    yield from (f"--ulimit=nofile={FILES}:{FILES}", f"--ulimit=nproc={_most_processes()}")
    if policy.disk is not None:
        yield f"--ulimit=fsize={policy.disk.bytes}:{policy.disk.bytes}"
    if policy.memory_bytes is not None:
        yield f"--memory={policy.memory_bytes}"
    if policy.cpus is not None:
        yield f"--cpus={policy.cpus:g}"
    # By name only: the engine takes the values from its own environment, because arguments are visible to all users.
    names = (name for name in (*launch.env, MARKER_VARIABLE) if name not in _OWN)
    yield from (
        f"--env={name}={launch.env[name]}" if _steers_engine(name) else f"--env={name}" for name in names
    )
    if "HOME" in launch.env:
        yield f"--env=HOME={launch.env['HOME']}"
    mounts = (*policy.mounts, *(Mount(folder, folder, writable=True) for folder in policy.writable))
    for mount in sorted(mounts, key=lambda mount: len(mount.target.parts)):
        access = "" if mount.writable else ",ro"
        yield f"--mount=type=bind,source={mount.source},destination={mount.target}{access}"


def _cover(engine: Engine, folders: Iterable[Path]) -> Iterator[str]:
    """An empty folder over each of these; podman would fill it with a copy of what it covers."""
    empty = ",notmpcopyup" if engine.program.name == "podman" else ""
    for folder in folders:
        yield from ("--tmpfs", f"{folder}:ro{empty}")


def _most_processes() -> str:
    """Many, because the kernel counts the processes of a user in all containers together; `--pids-limit` counts one."""
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = OF_USER if hard == resource.RLIM_INFINITY else min(hard, OF_USER)
    return f"{most}:{most}"


PROFILES: Final = (Path("/etc/containers/seccomp.json"), Path("/usr/share/containers/seccomp.json"))
"""The engine's own profiles, the user's before the shipped one; docker's built-in profile already refuses namespaces."""

_NAMESPACES: Final = 0x7E020080
"""All flags of clone(2) that create a namespace."""
_JUDGED: Final = frozenset({"clone", "clone3", "setns", "socket", "unshare"})
_ALLOW: Final = "SCMP_ACT_ALLOW"


def seccomp_profile() -> str | None:
    """A stricter profile for the engine; None for the engine's default."""
    profile = next((path for path in PROFILES if path.is_file()), None)
    return None if profile is None else json.dumps(tighten_profile(json.loads(profile.read_bytes())))


def tighten_profile(own: dict[str, Any]) -> dict[str, Any]:
    rules = [
        {**rule, "names": [name for name in rule["names"] if name not in _JUDGED]} for rule in own["syscalls"]
    ]
    judged = [
        _rule("clone", _ALLOW, args=[_argument(_NAMESPACES, "SCMP_CMP_MASKED_EQ")]),
        # Its flags are in memory, where a filter cannot see them; if it seems not to exist, libraries use clone.
        _rule("clone3", "SCMP_ACT_ERRNO", errnoRet=38),
        _rule("socket", _ALLOW, args=[_argument(AF_VSOCK, "SCMP_CMP_NE")]),
    ]
    return {**own, "syscalls": [*(rule for rule in rules if rule["names"]), *judged]}


def _rule(name: str, action: str, **more: Any) -> dict[str, Any]:
    return {"names": [name], "action": action, "includes": {}, "excludes": {}, **more}


def _argument(value: int, comparison: str) -> dict[str, Any]:
    return {"index": 0, "value": value, "valueTwo": 0, "op": comparison}
