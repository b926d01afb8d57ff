"""A program that plays one answer of a scripted or recorded agent, started as `python -I -S player.py`.

It reads the answer as JSON from stdin, waits, writes files and fails as the answer says, so that everything around an
agent can be tested without one. It imports nothing from Podium.
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
    task = json.load(sys.stdin)
    os.chdir(task.get("root", "."))
    time.sleep(task["delay_s"])
    for name, content in task["write"].items():
        with reporting(name, "written"):
            put(pathlib.Path(name), content)
        say({"type": "file", "path": name})
    for name, content in task.get("remember", {}).items():
        with reporting(name, "written"):
            put(pathlib.Path(name), content)
    for name in task["delete"]:
        with reporting(name, "deleted"):
            pathlib.Path(name).unlink(missing_ok=True)
        say({"type": "file", "path": name})
    sys.exit(act(task))


@contextlib.contextmanager
def reporting(name: str, what: str) -> Iterator[None]:
    """Exit with a message if a file cannot be changed, for example because a folder is in its place."""
    try:
        yield
    except OSError as error:
        sys.exit(f'"{name}" cannot be {what}: {error.strerror or error} (a rule writes first, then deletes)')


def put(path: pathlib.Path, content: str | dict) -> None:  # type: ignore[type-arg]  # a text, or a recorded file
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        return
    path.unlink(missing_ok=True)
    data = base64.b64decode(content["base64"])
    if content["mode"] == "link":
        path.symlink_to(os.fsdecode(data))
        return
    path.write_bytes(data)
    if content["mode"] == "program":
        path.chmod(0o755)


def act(task: dict) -> int:  # type: ignore[type-arg]  # JSON
    match task["error"]:
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "timeout":
            while True:
                signal.pause()
        case "garbled":
            sys.stdout.write('{"type": "answer", "text": "half an ans')
            return 0
        case None:
            say({"type": "answer", **task["answer"]})
        case trouble:
            say({**task["answer"], "type": "error", "error": trouble})
            return task["exit"] or 1
    return int(task["exit"])


def say(record: dict) -> None:  # type: ignore[type-arg]  # one line of JSON
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
