"""The named strategies: which parts each one packs, on top of what `include` names."""

from __future__ import annotations

from typing import Final

from podium.context.manifest import Depth
from podium.fast_dataclass import dataclass

TARGET: Final = "$TARGET"
IMPORTS: Final = "$TARGET_IMPORTS"
INTERFACES: Final = "$INTERFACES"
PUBLIC_API: Final = "$PUBLIC_API"
INTERNALS: Final = "$INTERNALS"
WORDS: Final = (TARGET, IMPORTS, INTERFACES, PUBLIC_API, INTERNALS)

SECURITY_WORDS: Final = (
    "auth authenticate authorization login session token secret password credential permission role admin exec eval "
    "subprocess shell system popen crypt encrypt decrypt hash sign verify certificate deserialize pickle marshal yaml "
    "sql query escape sanitize redirect upload path cookie csrf cors random nonce key"
).split()
MANIFESTS: Final = (
    "**/pyproject.toml",
    "**/requirements*.txt",
    "**/package.json",
    "**/go.mod",
    "**/Cargo.toml",
    "**/pom.xml",
    "**/build.gradle*",
    "**/Dockerfile",
)
DOCS: Final = ("README*", "docs/**/*.md", "docs/**/*.rst", "**/adr/**", "ARCHITECTURE*", "CONTRIBUTING*")


@dataclass(frozen=True, slots=True)
class Preset:
    words: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    diff: bool = False
    changed: bool = False
    """The changed files in full, and the signatures of what imports them."""
    related: bool = False
    tree: bool = False
    depth: Depth | None = None
    """Overrides what follows from the agent."""
    task_words: tuple[str, ...] = ()
    """Replace the words of the task."""
    only: bool = False
    """Leaves out what `include` names, and what the target is related to."""


PRESETS: Final = {
    "component_only": Preset(words=(TARGET, INTERFACES), only=True),
    "planner_docset": Preset(include=DOCS, tree=True),
    "implementer_targeted": Preset(words=(TARGET, IMPORTS, INTERFACES), related=True, diff=True, tree=True),
    "reviewer_diff": Preset(words=(INTERFACES,), diff=True, changed=True),
    "security_audit": Preset(
        include=MANIFESTS, diff=True, changed=True, related=True, task_words=tuple(SECURITY_WORDS)
    ),
    "investigator_wide": Preset(
        words=(TARGET, IMPORTS, INTERFACES), related=True, diff=True, tree=True, depth="full"
    ),
}
