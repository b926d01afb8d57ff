"""Runs the real programs through every fault, and writes docs/reference/agent-faults.md from what they did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/agent-faults.md"
HEAD = """\
# What becomes of faults

Written by `make faults`, which runs the real `claude`, `codex` and `gemini` against a model server on this machine. Each
fault strikes after one good call of 170 tokens in, 30 cached and 50 out. A category decides what follows; the words are
what the program said, as `podium show` prints them. No process was left in any case.

`codex` tells no tokens of a turn that failed, and no program those of a call that it was not allowed to end: they are
unknown then, and the reservation of the call stays booked. `codex` has no limit of turns; its time bounds it.
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "faults.json"
        command = (sys.executable, "-m", "pytest", "-q", "tests/live/test_faults.py")
        code = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PODIUM_FAULTS": str(place)}, check=False
        ).returncode
        if code:
            return code
        rows: list[Mapping[str, Any]] = json.loads(place.read_text("utf-8"))
    PAGE.write_text("\n".join((HEAD, *_tables(rows))), "utf-8")
    return 0


def _tables(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    for program in dict.fromkeys(row["program"] for row in rows):
        yield f"## {program}\n"
        yield "| fault | category | what follows | seconds | tokens kept | message |\n|---|---|---|---|---|---|"
        for row in rows:
            if row["program"] == program:
                kind = (
                    row["kind"] if row["reason"] in ("", row["kind"]) else f"{row['kind']}, {row['reason']}"
                )
                took = f"{row['seconds']:.0f}" if row["seconds"] else ""
                yield f"| {row['fault']} | {kind} | {row['action']} | {took} | {row['used']} | {_cell(row['message'])} |"
        yield ""


def _cell(text: str) -> str:
    line = " ".join(text.split())
    shown = line if len(line) <= 120 else f"{line[:119]}..."
    return shown.replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


if __name__ == "__main__":
    sys.exit(main())
