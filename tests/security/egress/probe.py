"""Runs in the sandbox: calls the model, then looks for the key wherever a process can look."""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

# Never spelled out here, or it would be found in this very program.
TURNED = sys.argv[1].encode()
NEEDLE = TURNED[::-1]


def call(path: str) -> int:
    asked = urllib.request.Request(
        f"http://127.0.0.1:8081{path}", data=b"{}", headers={"x-api-key": "dummy"}, method="POST"
    )
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.read()
        return error.code


def in_memory(pid: str) -> bool:
    try:
        places = Path(f"/proc/{pid}/maps").read_text().splitlines()
        with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
            for line in places:
                first, last = (int(part, 16) for part in line.split()[0].split("-"))
                if "r" not in line.split()[1] or "[v" in line:
                    continue
                try:
                    memory.seek(first)
                    # Our own memory holds what we look for; that of others must not.
                    if NEEDLE in memory.read(last - first):
                        return True
                except (OSError, ValueError, OverflowError):
                    continue
    except OSError:
        return False
    return False


def in_files(top: str) -> list[str]:
    found = []
    for folder, _, names in os.walk(top):
        for name in names:
            place = Path(folder) / name
            try:
                if place.is_file() and place.stat().st_size < 5_000_000 and NEEDLE in place.read_bytes():
                    found.append(str(place))
            except OSError:
                continue
    return found


def readable(pid: str, name: str) -> bool:
    try:
        return NEEDLE in Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return False


def main() -> None:
    calls = {path: call(path) for path in ("/v1/messages", "/v1/files", "/v1/messages/batches")}
    pids = [place.name for place in Path("/proc").iterdir() if place.name.isdecimal()]
    others = [pid for pid in pids if pid != str(os.getpid())]
    seen = {
        "calls": calls,
        "processes": len(pids),
        "looked into": sum(os.access(f"/proc/{pid}/mem", os.R_OK) for pid in others),
        "memory": [pid for pid in others if in_memory(pid)],
        "environ": [pid for pid in pids if readable(pid, "environ")],
        "argv": [pid for pid in pids if readable(pid, "cmdline")],
        "files": [
            place for top in ("/run", "/tmp", "/etc", ".", os.environ["HOME"]) for place in in_files(top)
        ],
    }
    sys.stdout.write(json.dumps(seen) + "\n")


main()
