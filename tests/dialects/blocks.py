"""The YAML blocks of the documents that described this system, read where they lie: beside the clone, never in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "seeds"
COUNT = 53


@dataclass(frozen=True, slots=True)
class Block:
    """`key` is the document, the heading above the block, and its number under that heading."""

    key: tuple[str, str, int]
    text: str


def blocks() -> dict[tuple[str, str, int], str]:
    """All of them; without the documents the test is skipped, and in CI that is a failure."""
    if not FOLDER.is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{FOLDER} is not there")
        pytest.skip("the documents with the foreign workflows are not beside this clone")
    return {block.key: block.text for path in sorted(FOLDER.glob("*.txt")) for block in _blocks(path)}


def _blocks(path: Path) -> Iterator[Block]:
    document, heading, language = f"S{int(path.name[:3])}", "", None
    lines: list[str] = []
    seen: dict[str, int] = {}
    for line in path.read_text("utf-8").splitlines(keepends=True):
        fence = re.match(r"\s*```(\w*)", line)
        if fence and language is None:
            language, lines = fence[1], []
        elif fence:
            if language in ("yaml", "yml"):
                seen[heading] = seen.get(heading, 0) + 1
                yield Block((document, heading, seen[heading]), "".join(lines))
            language = None
        elif language is not None:
            lines.append(line)
        elif re.match(r"##+ ", line):
            heading = line.strip("# \n")
