"""A terminal of any size, in tmux: what a person would see on it, as text."""

from __future__ import annotations

import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.e2e.kit import Project, until


class Tmux:
    def __init__(self, socket: str) -> None:
        self._socket = socket

    def run(self, *args: str) -> str:
        command = ("tmux", "-L", self._socket, "-f", "/dev/null", *args)
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def screen(self, *, colours: bool = False) -> str:
        text = self.run("capture-pane", "-p", *(("-e",) if colours else ()))
        return "\n".join(line.rstrip() for line in text.rstrip("\n").split("\n")) + "\n"

    def wait_for(self, text: str) -> str:
        """The screen as soon as it shows a text."""

        def look() -> str | None:
            screen = self.screen()
            return screen if text in screen else None

        return until(look, f"{text!r} on the screen")

    def type(self, text: str) -> None:
        self.run("send-keys", "-l", text)
        self.run("send-keys", "Enter")


@contextmanager
def in_tmux(
    project: Project, *args: str, columns: int, rows: int = 24, env: Mapping[str, str] | None = None
) -> Iterator[Tmux]:
    """Podium in a window of this size; it stays open after the end of the command."""
    variables = {**project.environment(), "TERM": "tmux-256color", **(env or {})}
    assignments = [f"{name}={value}" for name, value in variables.items()]
    command = shlex.join(["env", "-i", *assignments, sys.executable, "-m", "podium", *args])
    tmux = Tmux(f"podium-{uuid.uuid4().hex[:8]}")
    window = ("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(project.root))
    tmux.run("-u", *window, f"{command}; cat")
    try:
        yield tmux
    finally:
        tmux.run("kill-server")
