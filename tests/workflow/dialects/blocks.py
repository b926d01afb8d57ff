"""Reads the YAML blocks of the documents that described this system; the documents are next to the clone, not in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "seeds"
COUNT = 53


@dataclass(frozen=True, slots=True)
class Block:
    """`key` is the document, the heading above the block, and the block's number under that heading."""

    key: tuple[str, str, int]
    text: str


def blocks() -> dict[tuple[str, str, int], str]:
    """All blocks by key; without the documents the test is skipped, which CI counts as a failure."""
    if not FOLDER.is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{FOLDER} does not exist")
        pytest.skip("the documents with the foreign workflows are not next to this clone")
    return {block.key: block.text for path in sorted(FOLDER.glob("*.txt")) for block in _blocks(path)}


def _blocks(path: Path) -> Iterator[Block]:
    document, heading, language = f"S{int(path.name[:3])}", "", None
    lines: list[str] = []
    counts: dict[str, int] = {}
    for line in path.read_text("utf-8").splitlines(keepends=True):
        fence = re.match(r"\s*```(\w*)", line)
        if fence and language is None:
            language, lines = fence[1], []
        elif fence:
            if language in ("yaml", "yml"):
                counts[heading] = counts.get(heading, 0) + 1
                yield Block((document, heading, counts[heading]), "".join(lines))
            language = None
        elif language is not None:
            lines.append(line)
        elif re.match(r"##+ ", line):
            heading = line.strip("# \n")
