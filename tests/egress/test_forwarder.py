"""The relay in the sandbox starts before the command, loses nothing, and ends with the command."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from podium.egress import forwarder
from podium.process.procfs import read_pids
from tests.egress.kit import short_folder

SCRIPT = Path(forwarder.__file__)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def host(folder: Path, size: int = 0) -> Iterator[Path]:
    """Read to the end, then send back the same bytes, or `size` bytes; one connection after another."""
    path = folder / "x.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)

        def serve() -> None:
            while True:
                try:
                    stream, _ = listener.accept()
                except OSError:
                    return
                with stream:
                    heard = whole(stream)
                    stream.sendall(b"x" * size if size else heard)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def whole(stream: socket.socket) -> bytes:
    return b"".join(iter(lambda: stream.recv(65536), b""))


def started(path: Path, port: int, *command: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-I", "-S", str(SCRIPT), f"127.0.0.1:{port}={path}", "--", *command]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(path: Path, port: int, code: str) -> subprocess.CompletedProcess[bytes]:
    with started(path, port, sys.executable, "-I", "-c", code) as child:
        out, err = child.communicate(timeout=60)
        return subprocess.CompletedProcess(code, child.returncode, out, err)


TALK = """
import socket
with socket.create_connection(("127.0.0.1", {port})) as stream:
    stream.sendall({said})
    stream.shutdown(socket.SHUT_WR)
    heard = b"".join(iter(lambda: stream.recv(65536), b""))
"""


def test_the_port_answers_at_once_and_each_direction_ends_separately() -> None:
    with short_folder() as folder, host(folder) as path:
        port = free_port()
        done = run(path, port, TALK.format(port=port, said=b"hello") + "print(heard)")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"b'hello'\n", b"")


def test_large_transfers_in_both_directions_lose_nothing() -> None:
    with short_folder() as folder, host(folder, 20_000_000) as path:
        port = free_port()
        code = TALK.format(port=port, said="b'y' * 20_000_000") + "print(len(heard), set(heard))"
        done = run(path, port, code)

    assert done.stdout == b"20000000 {120}\n", done.stderr


@pytest.mark.parametrize(("code", "expected"), [("raise SystemExit(7)", 7), ("pass", 0)])
def test_the_exit_code_is_that_of_the_command(code: str, expected: int) -> None:
    with short_folder() as folder, host(folder) as path:
        assert run(path, free_port(), code).returncode == expected


def test_the_signal_of_the_command_is_reported() -> None:
    with short_folder() as folder, host(folder) as path:
        done = run(path, free_port(), "import os; os.kill(os.getpid(), 15)")

    assert done.returncode == -signal.SIGTERM


@pytest.mark.parametrize(("name", "code"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_start_is_reported_like_in_a_shell(name: str, code: int) -> None:
    with short_folder() as folder, host(folder) as path, started(path, free_port(), name) as child:
        _, err = child.communicate(timeout=60)

    assert child.returncode == code
    assert name.encode() in err


def test_the_relay_is_detached_from_the_command_and_ends_with_it() -> None:
    """A command may wait for all its children, and readers of its output wait for its end."""
    code = "import os\ntry: os.wait()\nexcept ChildProcessError: print('childless', flush=True)\ninput()"
    with short_folder() as folder, host(folder) as path:
        with started(path, free_port(), sys.executable, "-I", "-c", code) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"childless\n"
            (relay,) = [pid for pid in read_pids() if is_relay(pid, path, child.pid)]
            end = os.pidfd_open(relay)
            child.communicate(timeout=60)
        poller = select.poll()
        poller.register(end, select.POLLIN)
        assert poller.poll(60_000), "the relay has outlived its command"
        os.close(end)


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_without_a_server_the_connection_is_closed_at_once() -> None:
    with short_folder() as folder:
        port = free_port()
        code = TALK.format(port=port, said=b"") + "print(heard)"
        done = run(folder / "nobody.sock", port, code)

    assert done.stdout == b"b''\n" or b"ConnectionResetError" in done.stderr


def test_waiting_uses_no_cpu_time() -> None:
    """Also with one direction closed, when a needlessly watched socket would wake the loop all the time."""
    with short_folder() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = folder / "x.sock"
        listener.bind(str(path))
        listener.listen()
        port = free_port()
        with started(path, port, sys.executable, "-I", "-c", "input()") as child:
            with dialled(port) as client:
                server, _ = listener.accept()
                client.sendall(b"x")
                client.shutdown(socket.SHUT_WR)
                heard = whole(server)
                (relay,) = [pid for pid in read_pids() if is_relay(pid, path, child.pid)]
                used = [ticks(relay)]
                client.settimeout(0.7)
                with pytest.raises(TimeoutError):
                    client.recv(1)
                used.append(ticks(relay))
                server.close()
            child.kill()

    assert heard == b"x"
    assert used[1] - used[0] <= 2


def dialled(port: int) -> socket.socket:
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            continue


def is_relay(pid: int, path: Path, command: int) -> bool:
    return str(path).encode() in command_line(pid) and pid != command


def ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
