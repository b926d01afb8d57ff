"""Sends the run of `podium demo` twice to a real Phoenix server on this machine, and counts what it stored.

make phoenix      installs Phoenix in .venv-phoenix (1 GB); not part of `make check`
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import urlopen

ROOT: Final = Path(__file__).parents[1]
PROGRAM: Final = (ROOT / ".venv-phoenix/bin/python", "-m", "phoenix.server.main", "serve")
START_S: Final = 600
STORED_S: Final = 60
EVERY_S: Final = 1.0


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="podium-phoenix-") as name:
        folder = Path(name)
        environment = {"PATH": os.defpath, "HOME": name, "LANG": "C.UTF-8"}
        base = f"http://127.0.0.1:{_free_port()}"
        server = {
            **environment,
            "PHOENIX_WORKING_DIR": name,
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": base.rpartition(":")[2],
            "PHOENIX_GRPC_PORT": str(_free_port()),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        }
        with (
            (folder / "log").open("w") as log,
            subprocess.Popen(PROGRAM, cwd=folder, env=server, stdout=log, stderr=log) as process,
        ):
            try:
                _check(base, folder, environment)
            finally:
                process.terminate()


def _check(base: str, folder: Path, environment: dict[str, str]) -> None:
    _await_server(base)
    _podium(folder, environment, "demo", "--folder", "cart")
    counts, sent = [], 0
    for _ in range(2):
        sent = json.loads(_podium(folder / "cart", environment, "export", "--otlp", base, "--json"))["spans"]
        counts.append(len(_stored(base, sent)))
    names = {span["name"]: span["span_kind"] for span in _stored(base, sent)}
    print(f"sent {sent} spans twice; stored {counts[0]}, then {counts[1]}")
    for name, kind in sorted(names.items()):
        print(f"  {name}: {kind}")
    if counts != [sent, sent]:
        sys.exit("Phoenix does not count a run once")


def _await_server(base: str) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            with urlopen(f"{base}/healthz", timeout=5):  # noqa: S310 (an address on this machine)
                return
        except (URLError, OSError):
            if time.monotonic() > deadline:
                sys.exit(f"Phoenix did not start within {START_S} s")
            time.sleep(EVERY_S)


def _stored(base: str, expected: int) -> list[dict[str, Any]]:
    """Phoenix stores in the background."""
    deadline = time.monotonic() + STORED_S
    spans: list[dict[str, Any]] = []
    while len(spans) < expected and time.monotonic() < deadline:
        time.sleep(2 * EVERY_S)
        try:
            with urlopen(f"{base}/v1/projects/default/spans?limit=1000", timeout=30) as answer:  # noqa: S310 (the same)
                spans = json.load(answer)["data"]
        except URLError:
            continue
    return spans


def _podium(folder: Path, environment: dict[str, str], *words: str) -> str:
    command = (sys.executable, "-m", "podium", *words)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"podium {' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


if __name__ == "__main__":
    main()
