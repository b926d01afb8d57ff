"""Prints everything an agent can find in its workspace and its private folders; runs as an agent's program."""

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import Any


def flags(path: str) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return int(struct.unpack("=q", fcntl.ioctl(fd, 0x80086601, bytes(8)))[0]) & ~0x10081000
    except OSError:
        return None
    finally:
        os.close(fd)


def content(path: str, status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(path)
    if not stat.S_ISREG(status.st_mode):
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(1 << 20)).hexdigest()[:16]


def look(path: str) -> tuple[Any, ...]:
    status = os.lstat(path)
    attributes = {
        name: os.getxattr(path, name, follow_symlinks=False).hex()
        for name in os.listxattr(path, follow_symlinks=False)
    }
    about = (oct(status.st_mode), status.st_uid, status.st_gid, attributes, flags(path))
    if stat.S_ISDIR(status.st_mode):
        return about
    is_own = path.startswith("./.git/")
    return (
        *about,
        status.st_nlink,
        status.st_size,
        "" if path == "./.git/index" else content(path, status),
        is_own,
    )


def git(*args: str) -> list[Any]:
    done = subprocess.run(["git", *args], capture_output=True, text=True, check=False)
    return [done.returncode, done.stdout, done.stderr]


def walk(top: str) -> Iterator[str]:
    yield top
    for folder, folders, names in os.walk(top):
        for name in (*folders, *names):
            yield os.path.join(folder, name)


found: dict[str, Any] = {}
for path in walk("."):
    # Outside git the engine writes its own files below this folder, and some are gone again by now.
    with contextlib.suppress(FileNotFoundError):
        found[path] = look(path)
for name in ("HOME", "TMPDIR"):
    found[name] = (look(os.environ[name]), sorted(os.listdir(os.environ[name])))
found["status"] = git("status", "--porcelain", "--ignored")
found["settings"] = git("config", "--list", "--show-origin")
found["refs"] = git("for-each-ref")
found["log"] = git("log", "--format=%s", "--all")
found["index"] = git("ls-files", "-v", "--stage")
found["check"] = git("fsck", "--full", "--strict")
found["racy"] = git("diff-files", "--name-only")
found["inode"] = os.stat("docs/a.md").st_ino
# A long answer would be given to the next agent as a file.
print("FOUND" + json.dumps(found, default=repr, sort_keys=True), file=sys.stderr)
print("done")
