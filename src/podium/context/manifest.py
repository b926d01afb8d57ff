"""What a pack consists of: its parts with their texts, what was left out, and the record of both without the texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from podium.context.forms import Form
from podium.fast_dataclass import dataclass

Depth: TypeAlias = Literal["minimal", "balanced", "full"]
PartName: TypeAlias = Literal[
    "always",
    "target",
    "interfaces",
    "diff",
    "changed",
    "include",
    "public_api",
    "imports",
    "related",
    "likely",
    "tree",
    "command",
]
ORDER: Final[tuple[PartName, ...]] = (
    "always",
    "target",
    "interfaces",
    "diff",
    "changed",
    "include",
    "public_api",
    "imports",
    "related",
    "likely",
    "tree",
    "command",
)
"""A part never takes room from one before it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, or one piece of a diff, in the pack."""

    part: PartName
    path: str
    form: Form
    tokens: int
    reason: str
    text: str
    """Empty for one that is only named."""
    blob: str = ""
    redacted: int = 0
    note: str = ""
    """What a reader has to know about the form."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    path: str
    tokens: int
    reason: str
    part: PartName
    size: int = 0
    """In bytes, of a file that was asked for by name."""


@dataclass(frozen=True, slots=True)
class Pack:
    depth: Depth
    budget: int
    counter: str
    entries: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...]
    binary: tuple[str, ...] = ()
    """Files that were asked for and are not text."""
    notes: tuple[str, ...] = ()
    tree: str = ""
    base: str = ""

    @property
    def tokens(self) -> int:
        return sum(entry.tokens for entry in self.entries)

    @property
    def redacted(self) -> int:
        return sum(entry.redacted for entry in self.entries)

    def of(self, part: PartName) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.part == part)


def manifest_of(pack: Pack) -> Mapping[str, Any]:
    """The record of a pack, as JSON; the same pack always gives the same bytes."""
    return {
        "tree": pack.tree,
        "base": pack.base,
        "depth": pack.depth,
        "budget": pack.budget,
        "counter": pack.counter,
        "tokens": pack.tokens,
        "hash": pack_hash(pack),
        "parts": [
            {
                "part": entry.part,
                "path": entry.path,
                "form": entry.form,
                "tokens": entry.tokens,
                "reason": entry.reason,
                **({"blob": entry.blob} if entry.blob else {}),
                **({"redacted": entry.redacted} if entry.redacted else {}),
                **({"note": entry.note} if entry.note else {}),
            }
            for entry in pack.entries
        ],
        "left_out": [
            {"part": each.part, "path": each.path, "tokens": each.tokens, "reason": each.reason}
            for each in pack.left_out
        ],
        "not_text": list(pack.binary),
        "notes": list(pack.notes),
    }


def pack_hash(pack: Pack) -> str:
    """The hash of everything that the pack shows, by which a second run proves that it packed the same."""
    shown = [[e.part, e.path, e.form, e.text, e.note] for e in pack.entries]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def parts_of(manifest: Mapping[str, Any]) -> Sequence[tuple[str, int, int, str]]:
    """For each part of a manifest in order: its name, the number of files, the tokens and the forms."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for entry in manifest.get("parts", ()):
        rows.setdefault(str(entry["part"]), []).append(entry)
    return [
        (
            name,
            len({entry["path"] for entry in entries}),
            sum(int(entry["tokens"]) for entry in entries),
            ", ".join(dict.fromkeys(str(entry["form"]) for entry in entries)),
        )
        for name, entries in rows.items()
    ]
