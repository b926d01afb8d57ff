"""Packs of roles for kinds of projects, which `podium init` proposes by what it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from podium.app.author.detect import Scan
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.workflow.merge.write_yaml import write_document
from podium.workflow.problems import did_you_mean
from podium.workflow.source.files import SHIPPED
from podium.workflow.source.nodes import SourceLocation, node_from_value
from podium.workflow.source.yaml import read

FOLDER: Final = SHIPPED / "role_packs"
REASONS: Final[Mapping[str, tuple[str, ...]]] = {
    "frontend": ("web",),
    "data_pipeline": ("data",),
    "backend_api": ("database", "service"),
    "smart_contracts": ("contracts",),
    "rust": ("rust",),
    "go": ("go",),
    "trading": ("trading",),
    "cli_tool": ("cli",),
    "security": ("auth",),
    "infrastructure": ("infrastructure",),
}
"""By pack, the fields or languages of a project that it fits."""


@dataclass(frozen=True, slots=True)
class RolePack:
    name: str
    description: str
    roles: Mapping[str, Any]
    because: str
    """What in the project it fits; empty if nothing does."""
    selected: bool


def propose_packs(
    scan: Scan, languages: Sequence[str], names_to_write: Sequence[str] | None
) -> tuple[RolePack, ...]:
    """All packs; selected are those in `names_to_write`, or without it those that fit the project."""
    for name in names_to_write or ():
        if name not in REASONS:
            hint = did_you_mean(name, REASONS) or f"there are {', '.join(REASONS)}"
            raise ConfigurationError(f'role pack "{name}" not found', hint=hint)
    return tuple(_pack(name, {*scan.fields, *languages}, names_to_write) for name in REASONS)


def _pack(name: str, kinds: set[str], names_to_write: Sequence[str] | None) -> RolePack:
    value = read(FOLDER / f"{name}.yaml").value
    because = next((kind for kind in REASONS[name] if kind in kinds), "")
    is_selected = bool(because) if names_to_write is None else name in names_to_write
    return RolePack(name, str(value["description"]), value["roles"], because, is_selected)


def role_files(packs: Sequence[RolePack]) -> dict[Path, str]:
    """The files of the roles of the selected packs, by path in the project."""
    place = SourceLocation("", 1, 1)
    return {
        Path(f".podium/roles/{name}.yaml"): write_document(node_from_value(role, place))
        for pack in packs
        if pack.selected
        for name, role in pack.roles.items()
    }
