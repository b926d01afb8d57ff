"""The words with which bubblewrap is started: what the process sees, and what it is cut off from.

As root there are two of them. bubblewrap that root starts is no wall: the process can write to /proc/sys, and from
there it gets out. But only root can show a folder that lies below a private home to somebody else. So the outer one,
still as root, does nothing but arrange the files; then all rights are dropped for good, and the inner one, that of an
ordinary user, makes the namespaces around what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from podium.adapters.sandboxes.host_programs import SYSTEM
from podium.ports.sandbox import Mount

# Fixed places: where user namespaces are restricted, the system's own bubblewrap is the one that is allowed them, and
# a program of that name in the project must not be the wall around it.
BWRAP: Final = Path("/usr/bin/bwrap")
SETPRIV: Final = Path("/usr/bin/setpriv")

NOBODY: Final = 65534

ETC: Final = (
    "alternatives ca-certificates crypto-policies group hosts ld.so.cache localtime mime.types nsswitch.conf passwd "
    "pki ssl"
).split()
"""What programs look up in /etc; nothing in these is a secret. Each costs: bubblewrap reads all mounts for every one."""
_OPEN: Final = (Path("/etc"), Path("/var"))
"""Root's bubblewrap would make the folders that lead to something so that only root gets through."""
_DEV: Final = Path("/dev")
_NAMES: Final = ("resolv.conf",)
"""Where names of hosts are looked up; of no use without a network."""

_APART: Final = (
    *("--unshare-user", "--disable-userns", "--unshare-ipc", "--unshare-pid", "--unshare-uts"),
    *("--unshare-cgroup-try", "--die-with-parent", "--new-session"),
)
_LINKER: Final = ("LD_", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "MALLOC_", "NLSPATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a process sees of the file system besides the system itself."""

    mounts: tuple[Mount, ...]
    hidden: tuple[Path, ...] = ()
    cwd: Path
    own_net: bool = True
    seccomp: int | None = None
    """A descriptor with a filter for system calls."""


def words(view: View, argv: Iterable[str], env: Mapping[str, str], *, is_root: bool) -> tuple[str, ...]:
    """All of it, ready to be started. What `env` has for the dynamic linker must be left out of its own environment."""
    apart = (*_APART, *(("--unshare-net",) if view.own_net else ()))
    calls = () if view.seccomp is None else ("--seccomp", str(view.seccomp))
    end = (*calls, "--chdir", str(view.cwd), *_for_payload(env), "--", *argv)
    elsewhere, below_dev = _split_at_dev(view)
    if not is_root:
        return (str(BWRAP), *apart, *_files(elsewhere), *_kernel(_shown(below_dev)), *end)
    drop = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--no-new-privs")
    # The inner bubblewrap starts from what the outer one has arranged, so it finds each mount at its target.
    arranged = replace(below_dev, mounts=tuple(replace(m, source=m.target) for m in below_dev.mounts))
    outer = (*_files(elsewhere), "--bind", "/proc", "/proc", "--dev", "/dev", *_shown(below_dev))
    return (
        *(str(BWRAP), "--die-with-parent", *outer, "--"),
        *(str(SETPRIV), *drop, "--"),
        *(str(BWRAP), *apart, "--bind", "/", "/", *_kernel(_shown(arranged)), *end),
    )


def split(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of bubblewrap itself: all of the process's, but nothing that could change what bubblewrap does.

    As a whole and not by --clearenv and --setenv: what bubblewrap was started with can be read in /proc/1/environ
    within the walls, and its arguments in the list of processes.
    """
    return {name: value for name, value in env.items() if not name.startswith(_LINKER)}


def _for_payload(env: Mapping[str, str]) -> Iterator[str]:
    """A library of the tree that the dynamic linker is pointed to must be loaded inside, not by what builds the walls."""
    for name, value in env.items():
        if name.startswith(_LINKER):
            yield from ("--setenv", name, value)


def _kernel(below_dev: Iterable[str]) -> tuple[str, ...]:
    """Its own devices and processes. Nothing else may be made in the folders that lead to what is shown.

    `--dev` mounts a new /dev, so what lies below it, such as a project in /dev/shm, is mounted after it.
    """
    devices = ("--dev", "/dev", *below_dev)
    return (*devices, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--remount-ro", "/")


def _files(view: View) -> Iterator[str]:
    for top in SYSTEM:
        if top.is_symlink():
            yield from ("--symlink", str(top.readlink()), str(top))
        elif top.is_dir():
            yield from ("--ro-bind", str(top), str(top))
    for folder in _OPEN:
        yield from ("--perms", "0755", "--dir", str(folder))
    for name in (*ETC, *(() if view.own_net else _NAMES)):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for fresh in ("/tmp", "/run", "/var/tmp"):  # noqa: S108  # fresh ones, which only this process has
        yield from ("--perms", "1777", "--tmpfs", fresh)
    yield from _shown(view)


def _split_at_dev(view: View) -> tuple[View, View]:
    """The view without what lies below /dev, and only that."""
    below = tuple(mount for mount in view.mounts if mount.target.is_relative_to(_DEV))
    hidden = tuple(folder for folder in view.hidden if folder.is_relative_to(_DEV))
    elsewhere = tuple(mount for mount in view.mounts if mount not in below)
    rest = tuple(folder for folder in view.hidden if folder not in hidden)
    return replace(view, mounts=elsewhere, hidden=rest), replace(view, mounts=below, hidden=hidden)


def _shown(view: View) -> Iterator[str]:
    for folder in _folders_above(view.mounts):
        yield from ("--perms", "0755", "--dir", str(folder))
    # From the top down: what is mounted first would cover what was mounted below it.
    for mount in sorted(view.mounts, key=lambda mount: len(mount.target.parts)):
        yield from ("--bind" if mount.writable else "--ro-bind", str(mount.source), str(mount.target))
    for folder in view.hidden:
        yield from ("--tmpfs", str(folder))


def _folders_above(mounts: tuple[Mount, ...]) -> tuple[Path, ...]:
    """What leads to a mount, from the top down."""
    targets = [mount.target for mount in mounts]
    above = {folder for target in targets for folder in target.parents[:-1]}
    return tuple(
        sorted(folder for folder in above if not any(folder.is_relative_to(target) for target in targets))
    )
