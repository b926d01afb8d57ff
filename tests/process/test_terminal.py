"""A program on a terminal of its own, relayed to that of the user."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest

from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox
from podium.adapters.sandboxes.bubblewrap_probe import probe
from podium.ports.sandbox import SandboxPolicy
from podium.process.launch import Finished, Launch
from podium.process.run import run
from podium.process.terminal import Terminal
from tests.process.kit import PATIENCE_S, launch, python

Start: TypeAlias = Callable[[Launch], Awaitable[Finished]]
READY = "print('ready', flush=True);"


@dataclass
class User:
    """The terminal of the user, seen from the keyboard and the screen."""

    keyboard: int
    terminal: Terminal
    screen: bytes = b""

    def wait_for(self, text: bytes) -> bytes:
        while text not in self.screen:
            assert select.select([self.keyboard], [], [], PATIENCE_S)[0], self.screen
            self.screen += os.read(self.keyboard, 4096)
        return self.screen

    def type(self, keys: bytes) -> None:
        os.write(self.keyboard, keys)


@pytest.fixture
def user() -> Iterator[User]:
    keyboard, terminal = os.openpty()
    yield User(keyboard, Terminal(terminal, terminal))
    for handle in (keyboard, terminal):
        with suppress(OSError):
            os.close(handle)


def use(program: Launch, user: Callable[[], None], start: Start = run) -> Finished:
    """Runs a program while the user does something at the terminal."""
    results: list[Finished] = []

    async def go() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, user)
            results.append(await start(program))

    anyio.run(go)
    return results[0]


def test_what_is_typed_reaches_the_program_and_what_it_prints_the_screen(user: User) -> None:
    code = f"{READY} print('heard ' + input()); raise SystemExit(3)"

    def person() -> None:
        user.wait_for(b"ready")
        user.type(b"hello\r")
        user.wait_for(b"heard hello")

    done = use(python(code, terminal=user.terminal), person)

    assert (done.exit_code, done.stdout.text()) == (3, "")


def test_ctrl_c_and_ctrl_z_are_keys_of_the_program_only(user: User) -> None:
    code = f"""
import os, signal, sys
signal.signal(signal.SIGINT, lambda *_: os.write(1, b'interrupted'))
{READY}
print('heard ' + sys.stdin.readline())"""

    def person() -> None:
        user.wait_for(b"ready")
        user.type(b"\x03")
        user.wait_for(b"interrupted")
        user.type(b"a\x1ab\r")
        user.wait_for(b"heard ab")

    assert use(python(code, terminal=user.terminal), person).exit_code == 0


def test_a_new_size_of_the_window_reaches_the_program(user: User) -> None:
    code = f"""
import os, signal
signal.signal(signal.SIGWINCH, lambda *_: os.write(1, b'now %d %d' % os.get_terminal_size()))
print('first', *os.get_terminal_size()); {READY}
input()"""
    fcntl.ioctl(user.terminal.output, termios.TIOCSWINSZ, struct.pack("4H", 30, 100, 0, 0))

    def person() -> None:
        assert b"first 100 30" in user.wait_for(b"ready")
        fcntl.ioctl(user.terminal.output, termios.TIOCSWINSZ, struct.pack("4H", 40, 120, 0, 0))
        user.wait_for(b"now 120 40")
        user.type(b"\r")

    assert use(python(code, terminal=user.terminal), person).exit_code == 0


def test_the_terminal_is_left_as_it_was(user: User) -> None:
    before = termios.tcgetattr(user.terminal.input)

    def person() -> None:
        user.wait_for(b"ready")

    use(python(f"print('\\x1b[?1049h\\x1b[?25l'); {READY}", terminal=user.terminal), person)

    assert termios.tcgetattr(user.terminal.input) == before
    assert b"\x1b[?1049l\x1b[?25h" in user.wait_for(b"\x1b[0m")


def test_an_answer_of_the_terminal_to_the_program_never_reaches_the_shell(user: User) -> None:
    """A terminal reports the title that a program has set; the program may have ended by then."""

    def terminal() -> None:
        user.wait_for(b"\x1b[21t")
        user.type(b"\x1b]lrun evil\x1b\\\r")
        user.wait_for(b"\x1b[0m")
        user.type(b"late answer\r")

    use(python("print('\\x1b[21t', end='', flush=True)", terminal=user.terminal), terminal)

    assert select.select([user.terminal.input], [], [], 0.2)[0] == []


def test_a_program_whose_user_has_hung_up_ends(user: User) -> None:
    def person() -> None:
        user.wait_for(b"ready")
        os.close(user.keyboard)

    done = use(python(f"{READY} import time; time.sleep(600)", terminal=user.terminal), person)

    assert done.signal == 1


def test_a_program_that_is_missing_leaves_the_terminal_alone(user: User) -> None:
    done = anyio.run(run, launch("no-such-program", terminal=user.terminal))

    assert done.not_started == 'program "no-such-program" was not found'


@pytest.mark.security
def test_a_sandboxed_program_cannot_type_into_the_users_terminal(user: User, tmp_path: Path) -> None:
    """Its own terminal takes the characters, or the kernel refuses them; the user's shell must never get them."""
    if probe() is not None:
        pytest.skip("bubblewrap does not work here")
    code = f"""
import fcntl, os, termios
for letter in b'touch owned\\n':
    for handle in (0, os.open('/dev/tty', os.O_RDWR)):
        try:
            fcntl.ioctl(handle, termios.TIOCSTI, bytes([letter]))
        except OSError:
            pass
print('size', *os.get_terminal_size()); {READY}
input(); input()"""
    sandbox = BubblewrapSandbox()
    work = tmp_path / "work"
    work.mkdir()
    program = python(code, cwd=work, terminal=user.terminal)

    def person() -> None:
        user.wait_for(b"ready")
        user.type(b"\r\r")

    async def start(program: Launch) -> Finished:
        return await sandbox.run(program, SandboxPolicy(writable=(work,)))

    assert use(program, person, start).exit_code == 0
    attributes = termios.tcgetattr(user.terminal.input)
    attributes[3] &= ~termios.ICANON
    termios.tcsetattr(user.terminal.input, termios.TCSANOW, attributes)
    assert not select.select([user.terminal.input], [], [], 0)[0]
