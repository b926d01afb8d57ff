"""Programs of this machine as channels: the desktop's own message, and any command.

Rule: a program that belongs to a project is not started, because it would run outside of any sandbox.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from podium.adapters.channels.webhook import payload
from podium.ports.channel import ChannelError, ChannelMessage
from podium.process.host_programs import host_path, is_in_project

TIMEOUT_S: Final = 8.0
MARKER: Final = "podium-notify"


class CommandChannel:
    """The message is JSON on the standard input, and its main fields are in the environment."""

    def __init__(self, argv: tuple[str, ...], env: Mapping[str, str]) -> None:
        self._argv = argv
        self._env = env

    def fault(self) -> str:
        return _fault(self._argv[0], self._env)

    def send(self, message: ChannelMessage) -> None:
        fields = {
            "PODIUM_MESSAGE_ID": message.id,
            "PODIUM_MESSAGE_KIND": message.kind,
            "PODIUM_MESSAGE_TITLE": message.title,
        }
        document = {"id": message.id, **payload(message)}
        _run(self._argv, {**self._env, **fields}, json.dumps(document, ensure_ascii=False))


class DesktopChannel:
    """`notify-send` of Linux, `osascript` of macOS."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def fault(self) -> str:
        program = _desktop_program()
        fault = _fault(program, self._env)
        has_screen = any(
            self._env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")
        )
        if not fault and program == "notify-send" and not has_screen:
            return "this process belongs to no desktop session"
        return fault

    def send(self, message: ChannelMessage) -> None:
        fault = self.fault()
        if fault:
            raise ChannelError(fault)
        _run(_desktop_argv(message), self._env, "")


def _desktop_argv(message: ChannelMessage) -> tuple[str, ...]:
    if _desktop_program() == "osascript":
        # As arguments, never as a part of the script.
        script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
        return "osascript", "-e", script, message.title, message.body
    urgency = "normal" if message.kind in ("passed", "answered") else "critical"
    return "notify-send", "--app-name=Podium", f"--urgency={urgency}", "--", message.title, message.body


def _desktop_program() -> str:
    return "osascript" if sys.platform == "darwin" else "notify-send"


def _fault(program: str, env: Mapping[str, str]) -> str:
    path = shutil.which(program, path=host_path(env))
    if path is None:
        return f"{Path(program).name} is not installed"
    return f"{Path(program).name} belongs to a project" if is_in_project(path) else ""


def _run(argv: tuple[str, ...], env: Mapping[str, str], text: str) -> None:
    from podium.process.launch import Launch
    from podium.process.run import run_blocking

    fault = _fault(argv[0], env)
    if fault:
        raise ChannelError(fault)
    program = shutil.which(argv[0], path=host_path(env))
    assert program is not None
    launch = Launch(
        argv=(program, *argv[1:]),
        cwd=Path("/"),
        env={**env, "PATH": host_path(env)},
        marker=MARKER,
        stdin=text.encode("utf-8", "backslashreplace"),
        timeout_s=TIMEOUT_S,
        grace_s=1.0,
    )
    ended = run_blocking(launch)
    if ended.timed_out:
        raise ChannelError(f"{Path(argv[0]).name} took longer than {TIMEOUT_S:.0f} s")
    if ended.exit_code:
        raise ChannelError(ended.not_started or f"{Path(argv[0]).name} ended with code {ended.exit_code}")
