"""The process that reads foreign code: `python -m podium.context.extract.child`, limited in time and memory.

Parsers are C code and recursive, and the files may be hostile: what crashes here costs one file. Input: for each file, a
line `grammar size` and its bytes. Output: a first line when it is ready, then one line of JSON for each file.
"""

from __future__ import annotations

import sys
from typing import BinaryIO

from podium.context.extract.languages import read_facts
from podium.context.facts import facts_to_line

READY = "ready"
NO_GRAMMAR = "-"


def encode_job(grammar: str, content: bytes) -> bytes:
    """A file as the input of the child; without a grammar only its words are read."""
    return b"%s %d\n%s" % ((grammar or NO_GRAMMAR).encode(), len(content), content)


def main() -> None:
    source, out = sys.stdin.buffer, sys.stdout
    print(READY, flush=True)  # noqa: T201 - its output is the protocol
    while (job := _next(source)) is not None:
        print(facts_to_line(read_facts(*job)), flush=True)  # noqa: T201 - as above
    out.flush()


def _next(source: BinaryIO) -> tuple[str, bytes] | None:
    line = source.readline()
    if not line:
        return None
    grammar, size = line.decode().split()
    return ("" if grammar == NO_GRAMMAR else grammar), source.read(int(size))


if __name__ == "__main__":
    main()
