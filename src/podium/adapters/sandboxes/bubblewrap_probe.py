"""Whether bubblewrap holds on this machine, found out by running it; and if not, why not and what would help."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from podium.adapters.sandboxes.bubblewrap import enclosed, filtered
from podium.adapters.sandboxes.bubblewrap_argv import BWRAP, SETPRIV
from podium.ports.sandbox import SandboxPolicy
from podium.process.launch import Launch
from podium.process.run import completed

PROBE_S: Final = 20.0
INSTALL: Final = "install it: sudo apt-get install bubblewrap"
_SWITCHES: Final = (
    ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=10000"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap",
    ),
)
PASSED: Final = "walled in"


@dataclass(frozen=True, slots=True)
class Unavailable:
    reason: str
    fix: str


@cache
def look(
    bwrap: Path = BWRAP, setpriv: Path = SETPRIV, sysctl: Path = Path("/proc/sys")
) -> Unavailable | None:
    """None: it holds. Asked once in the life of a process."""
    is_root = os.geteuid() == 0
    if not sys.platform.startswith("linux"):
        return Unavailable("bubblewrap exists on Linux only", "use sandbox: container, with an image")
    if not bwrap.exists():
        return Unavailable("bubblewrap is not installed", INSTALL)
    if is_root and not setpriv.exists():
        return Unavailable(f"{setpriv} is missing, with which root gives up its rights", "install util-linux")
    launch = Launch(
        argv=("/bin/sh", "-c", f"echo {PASSED}"),
        cwd=Path("/"),
        env={"PATH": os.defpath},
        marker=f"podium-probe-{secrets.token_hex(4)}",
        timeout_s=PROBE_S,
    )
    try:
        with filtered() as calls:
            done = completed(enclosed(launch, SandboxPolicy(), calls=calls, is_root=is_root))
    except OSError as error:
        return Unavailable(f"bubblewrap cannot be tried: {error}", INSTALL)
    if done.exit_code == 0 and done.stdout.text().strip() == PASSED:
        return None
    said = (done.not_started or done.stderr.text()).strip() or f"it ended with {done.exit_code}"
    return Unavailable(f"bubblewrap does not work here: {said}", _fix(sysctl))


def _fix(sysctl: Path) -> str:
    for name, off, fix in _SWITCHES:
        try:
            if (sysctl / name).read_text().strip() == off:
                return f"user namespaces are switched off; {fix}"
        except OSError:
            continue
    return "allow user namespaces on this machine or in the container that Podium runs in"
