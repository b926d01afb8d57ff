"""The command line of bubblewrap: what the process sees, and what it is isolated from.

As root there are two of them. A process in a bubblewrap that root started can write to /proc/sys and escape. But only
root can mount a folder below a private home for another user. So the outer bubblewrap, as root, only sets up the files;
then all rights are dropped for good, and the inner one, as an ordinary user, creates the namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from podium.adapters.sandboxes.host_programs import SYSTEM
from podium.adapters.sandboxes.layout import is_below
from podium.fast_dataclass import dataclass, replace
from podium.ports.sandbox import Mount

# Fixed paths: where user namespaces are restricted, only the system's bubblewrap may use them, and a program of that
# name in the project must not be the sandbox around it.
BWRAP: Final = Path("/usr/bin/bwrap")
SETPRIV: Final = Path("/usr/bin/setpriv")
PRLIMIT: Final = Path("/usr/bin/prlimit")

NOBODY: Final = 65534

ETC: Final = (
    "alternatives ca-certificates crypto-policies group hosts ld.so.cache localtime mime.types nsswitch.conf passwd "
    "pki ssl"
).split()
"""What programs need in /etc, without secrets. A short list, because bubblewrap reads all mounts for each entry."""
_OPEN: Final = ("/etc", "/var")
"""Folders to create with open permissions, because root's bubblewrap would create them for root only."""
_DEV: Final = "/dev"
SHM: Final = "/dev/shm"  # noqa: S108  # new and private to this process, as the others below
SCRATCH: Final = ("/tmp", "/run", "/var/tmp", SHM)  # noqa: S108
"""Writable folders in memory."""
_NAMES: Final = ("resolv.conf",)
"""Files for looking up host names; useless without a network."""

_APART: Final = (
    *("--unshare-user", "--disable-userns", "--unshare-ipc", "--unshare-pid", "--unshare-uts"),
    *("--unshare-cgroup-try", "--die-with-parent"),
)
_NEW_SESSION: Final = "--new-session"
"""Takes the controlling terminal away. A process on a terminal of its own keeps that one."""
_LINKER: Final = ("LD_", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "MALLOC_", "NLSPATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a process sees of the file system in addition to the system folders."""

    mounts: tuple[Mount, ...]
    hidden: tuple[Path, ...] = ()
    cwd: Path
    own_net: bool = True
    seccomp: int | None = None
    """A descriptor with a filter of system calls."""
    scratch_bytes: int | None = None
    """The size of each of the folders in memory."""
    own_terminal: bool = False
    """Whether the process has a terminal that nothing else uses."""


def command_line(
    view: View, argv: Iterable[str], env: Mapping[str, str], *, is_root: bool
) -> tuple[str, ...]:
    """The whole command line. Variables for the dynamic linker in `env` must not be in bubblewrap's own environment."""
    calls = () if view.seccomp is None else ("--seccomp", str(view.seccomp))
    end = (*calls, "--chdir", str(view.cwd), *_linker_variables(env), "--", *argv)
    return (*_options(replace(view, seccomp=None), is_root=is_root), *end)


# Steps one after another usually see the same.
@lru_cache(maxsize=64)
def _options(view: View, *, is_root: bool) -> tuple[str, ...]:
    """The command line up to what differs from launch to launch."""
    session = () if view.own_terminal else (_NEW_SESSION,)
    namespaces = (*_APART, *session, *(("--unshare-net",) if view.own_net else ()))
    outside_dev, below_dev = _split_at_dev(view)
    if not is_root:
        return (str(BWRAP), *namespaces, *_files(outside_dev), *_kernel(below_dev))
    drop = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--no-new-privs")
    # The inner bubblewrap sees what the outer one has mounted, so each source is already at its target.
    inner_view = replace(below_dev, mounts=tuple(replace(m, source=m.target) for m in below_dev.mounts))
    outer = (*_files(outside_dev), "--bind", "/proc", "/proc", "--dev", "/dev", *_mounts(below_dev))
    return (
        *(str(BWRAP), "--die-with-parent", *outer, "--"),
        *(str(SETPRIV), *drop, "--"),
        *(str(BWRAP), *namespaces, "--bind", "/", "/", *_kernel(inner_view)),
    )


def without_linker_variables(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of bubblewrap itself: that of the process without variables that could affect bubblewrap.

    It is passed as a whole and not by --clearenv and --setenv, because bubblewrap's own environment can be read in
    /proc/1/environ inside, and its arguments in the list of processes.
    """
    return {name: value for name, value in env.items() if not name.startswith(_LINKER)}


def _linker_variables(env: Mapping[str, str]) -> Iterator[str]:
    """Set variables for the dynamic linker only inside, so that bubblewrap does not load a library from the tree."""
    for name, value in env.items():
        if name.startswith(_LINKER):
            yield from ("--setenv", name, value)


def _kernel(below_dev: View) -> tuple[str, ...]:
    """Separate /dev and /proc, and a read-only root.

    `--dev` mounts a new /dev, so mounts below it, such as a project in /dev/shm, come after it. It is in memory and has
    no size, so only /dev/shm stays writable.
    """
    devices = ("--dev", _DEV, *_in_memory(SHM, below_dev), *_mounts(below_dev), "--remount-ro", _DEV)
    return (*devices, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--remount-ro", "/")


def _in_memory(folder: str, view: View) -> tuple[str, ...]:
    size = () if view.scratch_bytes is None else ("--size", str(view.scratch_bytes))
    return ("--perms", "1777", *size, "--tmpfs", folder)


# It does not change while Podium runs.
@lru_cache(maxsize=1)
def can_size_memory(bwrap: Path = BWRAP) -> bool:
    """Whether this bubblewrap can limit folders in memory, as those since 0.7 can."""
    with suppress(OSError):
        return b"--size BYTES" in bwrap.read_bytes()
    return False


def _files(view: View) -> Iterator[str]:
    yield from _system_folders()
    for name in (*ETC, *(() if view.own_net else _NAMES)):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for scratch in SCRATCH:
        if scratch != SHM:  # in the new /dev, below
            yield from _in_memory(scratch, view)
    yield from _mounts(view)


# They do not change while Podium runs.
@lru_cache(maxsize=1)
def _system_folders() -> tuple[str, ...]:
    words: list[str] = []
    for top in map(Path, SYSTEM):
        if top.is_symlink():
            words += ("--symlink", str(top.readlink()), str(top))
        elif top.is_dir():
            words += ("--ro-bind", str(top), str(top))
    for folder in _OPEN:
        words += ("--perms", "0755", "--dir", folder)
    return tuple(words)


def _split_at_dev(view: View) -> tuple[View, View]:
    """The view without mounts below /dev, and the view with only those."""
    below = tuple(mount for mount in view.mounts if is_below(str(mount.target), _DEV))
    hidden = tuple(folder for folder in view.hidden if is_below(str(folder), _DEV))
    if not below and not hidden:
        return view, replace(view, mounts=(), hidden=())
    elsewhere = tuple(mount for mount in view.mounts if mount not in below)
    hidden_elsewhere = tuple(folder for folder in view.hidden if folder not in hidden)
    return replace(view, mounts=elsewhere, hidden=hidden_elsewhere), replace(
        view, mounts=below, hidden=hidden
    )


def _mounts(view: View) -> Iterator[str]:
    mounts = [(str(mount.target), mount) for mount in view.mounts]
    for above in _folders_above([target for target, _ in mounts]):
        yield from ("--perms", "0755", "--dir", above)
    # Parents first, because a later mount would cover earlier ones below it.
    for target, mount in sorted(mounts, key=lambda pair: pair[0].count("/")):
        yield from ("--bind" if mount.writable else "--ro-bind", str(mount.source), target)
    for folder in view.hidden:
        yield from ("--tmpfs", str(folder), "--remount-ro", str(folder))


def _folders_above(targets: list[str]) -> list[str]:
    """The parent folders of all mounts, top down."""
    above: set[str] = set()
    for target in targets:
        parts = target.split("/")
        above.update("/".join(parts[:depth]) for depth in range(2, len(parts)))
    folders = (folder for folder in above if not any(is_below(folder, target) for target in targets))
    return sorted(folders, key=lambda folder: folder.split("/"))
