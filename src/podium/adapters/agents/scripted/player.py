"""Plays one answer of a scripted or a recorded agent: a program of its own, started as `python -I -S player.py`.

The answer comes as JSON on stdin. What it says is done for real: it takes its time, files are written, and trouble is
acted out, so that everything around an agent can be tried without one. Imports nothing of Podium.
"""

import base64
import contextlib
import json
import os
import pathlib
import signal
import sys
import time
from collections.abc import Iterator


def main() -> None:
    part = json.load(sys.stdin)
    os.chdir(part.get("root", "."))
    time.sleep(part["delay_s"])
    for name, content in part["write"].items():
        with told_of(name, "written"):
            put(pathlib.Path(name), content)
        say({"type": "file", "path": name})
    for name in part["delete"]:
        with told_of(name, "deleted"):
            pathlib.Path(name).unlink(missing_ok=True)
        say({"type": "file", "path": name})
    sys.exit(act(part))


@contextlib.contextmanager
def told_of(name: str, what: str) -> Iterator[None]:
    """A rule may not fit the tree it meets: a file where a folder is, or the other way round."""
    try:
        yield
    except OSError as error:
        sys.exit(f'"{name}" cannot be {what}: {error.strerror or error} (a rule writes first, then deletes)')


def put(place: pathlib.Path, content: str | dict) -> None:  # type: ignore[type-arg]  # a text, or a recorded file
    place.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        place.write_bytes(content.encode("utf-8", "surrogateescape"))
        return
    place.unlink(missing_ok=True)
    left = base64.b64decode(content["base64"])
    if content["mode"] == "link":
        place.symlink_to(os.fsdecode(left))
        return
    place.write_bytes(left)
    if content["mode"] == "program":
        place.chmod(0o755)


def act(part: dict) -> int:  # type: ignore[type-arg]  # whatever the script sent
    match part["error"]:
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "timeout":
            while True:
                signal.pause()
        case "garbled":
            sys.stdout.write('{"type": "answer", "text": "half an ans')
            return 0
        case None:
            say({"type": "answer", **part["answer"]})
        case trouble:
            say({**part["answer"], "type": "error", "error": trouble})
            return part["exit"] or 1
    return int(part["exit"])


def say(record: dict) -> None:  # type: ignore[type-arg]  # one line of JSON
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
