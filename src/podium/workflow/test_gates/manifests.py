"""The part of a manifest that decides how tests run, without the dependencies that the code itself may need.

Code that needs a new dependency does not build with the earlier manifest. So `Cargo.toml` and `go.mod` count as changed
only if something else in them has, or if a dependency that was there leads to another place.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from podium.files import bounded_json

_DEPENDENCIES: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_UNIMPORTANT: Final = frozenset(
    "version description authors license repository homepage documentation readme keywords categories".split()
)
_PLACES: Final = ("path", "git", "branch", "rev", "tag", "registry", "package")


def is_steered(path: str, before: bytes | None, now: bytes | None) -> bool:
    """Whether the change of a manifest can change what its tests prove. A new one in a new folder cannot."""
    if before is None:
        return False
    if now is None:
        return True
    try:
        if PurePosixPath(path).name == "go.mod":
            return _go(before) != _go(now)
        earlier, later = (bounded_json.loads_toml(text.decode()) for text in (before, now))
    except ValueError:
        return True
    return _cargo(earlier, earlier) != _cargo(later, earlier)


def _go(content: bytes) -> list[str]:
    """Everything but `require`, in one line or in brackets."""
    rest: list[str] = []
    is_required = False
    for line in content.decode().splitlines():
        words = line.partition("//")[0].split()
        if words[:1] == ["require"]:
            is_required = words[1:2] == ["("]
        elif is_required:
            is_required = words != [")"]
        elif words:
            rest.append(" ".join(words))
    return rest


def _cargo(manifest: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest without new dependencies, and of the others only where they come from."""
    rest: dict[str, Any] = {}
    for key, value in manifest.items():
        before = earlier.get(key)
        if key in _DEPENDENCIES and isinstance(value, Mapping):
            old = before if isinstance(before, Mapping) else {}
            rest[key] = {name: _place(entry) for name, entry in value.items() if name in old}
        elif key == "package" and isinstance(value, Mapping):
            rest[key] = {name: each for name, each in value.items() if name not in _UNIMPORTANT}
        elif key in ("target", "workspace") or (isinstance(value, Mapping) and key.startswith("cfg(")):
            rest[key] = _cargo(value, before if isinstance(before, Mapping) else {})
        else:
            rest[key] = value
    return {key: value for key, value in rest.items() if value != {}}


def _place(entry: Any) -> Any:
    return {key: entry[key] for key in _PLACES if key in entry} if isinstance(entry, Mapping) else {}
