"""`python -m bench.floor FOLDER NUMBER [ARGV...]`: starts this many processes bare, each followed by a durable commit.

Without ARGV as Python's own asyncio starts, hears and collects `true` among others; with it one after the other. It is a
process of its own, as the command that is compared with it is: in a loop inside the benchmark the same takes less.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Final

from bench.engine import bare, commit

_SET_CHILD_SUBREAPER: Final = 36


async def _spawn() -> None:
    process = await asyncio.create_subprocess_exec("true", stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    await process.communicate()


def _run(argv: list[str]) -> None:
    subprocess.run(argv, stdin=DEVNULL, capture_output=True, check=True)
    # What a sandbox leaves to be collected comes to us.
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


async def main(folder: Path, number: int, argv: list[str]) -> None:
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    db = bare(folder)
    for _ in range(number):
        if argv:
            _run(argv)
        else:
            await _spawn()
        commit(db, 1)
    db.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as name:
        asyncio.run(main(Path(name), int(sys.argv[2]), sys.argv[3:]))
