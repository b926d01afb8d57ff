"""The page of the shipped roles, from their files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from podium.app.author.roles import list_roles, show_role
from tools.pages import markdown
from tools.pages.markdown import code, table

INTRO = """\
`podium roles list` names these and your own; `podium roles show NAME --origin` prints one with all that it inherits and
the place of each value. How roles are written, refined and installed is in [Roles](../how-to/roles.md)."""

KEYS = ("agent", "touches", "output", "context", "with", "strengths")


def page() -> str:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        listed = list_roles(project)
        shown = {role.name: show_role(role.name, project).value for role in listed}
    overview = [(f"[`{role.name}`](#{role.name})", role.description) for role in listed]
    parts = [part for role in listed for part in _role(role.name, role.extends, shown[role.name])]
    return markdown.page("Shipped roles", INTRO, table(("role", "for"), overview), *parts)


def _role(name: str, extends: str | None, said: dict[str, Any]) -> Iterator[str]:
    yield f"## {name}"
    yield f"{said['description']}." + (f" Extends [`{extends}`](#{extends})." if extends else "")
    rows = [(code(key), _spelled(said[key])) for key in KEYS if key in said]
    yield table(("key", "value"), rows)
    yield "\n".join(f"> {line}".rstrip() for line in said["system"].strip().splitlines())


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{code(key)}: {_spelled(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_spelled, value)) or "none"
    return code(str(value).lower() if isinstance(value, bool) else str(value))
