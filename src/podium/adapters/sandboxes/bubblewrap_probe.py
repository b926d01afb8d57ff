"""Tests whether bubblewrap works on this machine, and says why not and how to fix it."""

from __future__ import annotations

import os
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

from podium.adapters.sandboxes.bubblewrap import system_call_filter, wrap_launch
from podium.adapters.sandboxes.bubblewrap_argv import BWRAP, SETPRIV
from podium.fast_dataclass import dataclass
from podium.ports.sandbox import SandboxPolicy
from podium.process.launch import Launch
from podium.process.run import run_blocking

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
PASSED: Final = "sandboxed"


@dataclass(frozen=True, slots=True)
class Unavailable:
    reason: str
    fix: str


@cache
def probe(
    bwrap: Path = BWRAP, setpriv: Path = SETPRIV, sysctl: Path = Path("/proc/sys")
) -> Unavailable | None:
    """Why bubblewrap does not work here; None if it does. Tested once per process."""
    is_root = os.geteuid() == 0
    if not sys.platform.startswith("linux"):
        return Unavailable("bubblewrap is available on Linux only", "use sandbox: container, with an image")
    if not bwrap.exists():
        return Unavailable("bubblewrap is not installed", INSTALL)
    if is_root and not setpriv.exists():
        return Unavailable(f"{setpriv} is missing, which root needs to drop its rights", "install util-linux")
    launch = Launch(
        argv=("/bin/sh", "-c", f"echo {PASSED}"),
        cwd=Path("/"),
        env={"PATH": os.defpath},
        marker=f"podium-probe-{secrets.token_hex(4)}",
        timeout_s=PROBE_S,
    )
    try:
        with system_call_filter() as calls:
            wrapped = wrap_launch(launch, SandboxPolicy(), calls=calls, is_root=is_root)
            # In a thread, because a resumed run may ask for the first time from within the event loop.
            with ThreadPoolExecutor(1) as thread:
                finished = thread.submit(run_blocking, wrapped).result()
    except OSError as error:
        return Unavailable(f"bubblewrap cannot be tested: {error}", INSTALL)
    if finished.exit_code == 0 and finished.stdout.text().strip() == PASSED:
        return None
    message = (finished.not_started or finished.stderr.text()).strip() or f"exit code {finished.exit_code}"
    return Unavailable(f"bubblewrap does not work here: {message}", _fix(sysctl))


def _fix(sysctl: Path) -> str:
    for name, off, fix in _SWITCHES:
        try:
            if (sysctl / name).read_text().strip() == off:
                return f"user namespaces are disabled; {fix}"
        except OSError:
            continue
    return "allow user namespaces on this machine or in the container that Podium runs in"
