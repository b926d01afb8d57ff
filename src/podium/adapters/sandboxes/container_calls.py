"""The system calls of a container: what the engine allows anyway, without new namespaces and without calls to a host.

podman's own profile lets anybody make a user namespace, which is where most ways out of containers have begun.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from podium.adapters.sandboxes.seccomp import AF_VSOCK

PROFILES: Final = (Path("/etc/containers/seccomp.json"), Path("/usr/share/containers/seccomp.json"))
"""The engine's own, the user's before the shipped one. docker has its in itself, and that refuses namespaces."""

_NAMESPACES: Final = 0x7E020080
"""All flags of clone(2) that make one."""
_JUDGED: Final = frozenset({"clone", "clone3", "setns", "socket", "unshare"})
_ALLOW: Final = "SCMP_ACT_ALLOW"


def profile() -> str | None:
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
