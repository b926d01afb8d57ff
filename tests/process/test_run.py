"""Running a process: its input, its live output, its end, and its failures."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.process.launch import Heartbeat, Launch
from podium.process.output import OutputLimits, StreamName
from podium.process.procfs import Process, read_process, send
from podium.process.run import run
from podium.process.sweep import sweep
from podium.redaction.mask import Mask
from tests.process.kit import PATIENCE_S, Heard, finish, is_gone, launch, new_marker, python, until_async
from tests.redaction.test_mask import SECRET, SEVEN
from tests.timing import given_time


def test_both_streams_and_the_exit_code_are_returned() -> None:
    done = finish(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"))

    assert (done.exit_code, done.signal, done.timed_out, done.not_started) == (3, None, False, None)
    assert (done.stdout.text(), done.stderr.text()) == ("out\n", "err\n")
    assert done.duration_s > 0


def test_a_child_killed_by_a_signal_is_reported_as_such() -> None:
    done = finish(python("import os; os.kill(os.getpid(), 9)"))

    assert (done.exit_code, done.signal) == (128 + 9, 9)


@pytest.mark.req("R181", "C2")
def test_arguments_reach_the_child_unchanged() -> None:
    arguments = ["$(id)", "a b", "`id`", "'", "; true", "*", "\n"]

    done = finish(python("import sys; print(sys.argv[1:])", *arguments))

    assert done.stdout.text() == f"{arguments}\n"


@pytest.mark.req("R189")
def test_stdin_is_empty_by_default(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"from a file")
    code = "import sys; print(repr(sys.stdin.buffer.read()))"

    assert finish(python(code)).stdout.text() == "b''\n"
    assert finish(python(code, stdin=b"bytes")).stdout.text() == "b'bytes'\n"
    assert finish(python(code, stdin=tmp_path / "input")).stdout.text() == "b'from a file'\n"


@pytest.mark.req("R187")
def test_a_large_unread_input_does_not_block() -> None:
    assert finish(python("pass", stdin=bytes(5_000_000))).exit_code == 0


def test_the_child_cannot_change_its_input() -> None:
    done = finish(python("import os; os.write(0, b'x')", stdin=b"bytes"))

    assert "Operation not permitted" in done.stderr.text()


@pytest.mark.req("R064")
def test_output_is_passed_on_while_the_child_runs(tmp_path: Path) -> None:
    """The child continues only after the callback has handled its first line."""
    code = "import os, sys; print('first', flush=True); open(sys.argv[1]).read(); print('second')"
    os.mkfifo(tmp_path / "go")

    def answer(stream: StreamName, data: bytes) -> None:
        if data == b"first\n":
            (tmp_path / "go").write_bytes(b"go")

    done = finish(python(code, str(tmp_path / "go")), on_output=answer)

    assert (done.exit_code, done.stdout.text()) == (0, "first\nsecond\n")


@pytest.mark.req("R153")
def test_much_output_on_both_streams_is_spilled_and_does_not_block(tmp_path: Path) -> None:
    code = "import sys\nfor _ in range(40): sys.stdout.write('o' * 65536); sys.stderr.write('e' * 65536)"
    heard = Heard()

    done = finish(python(code, spill_dir=tmp_path / "spill"), on_output=heard)

    assert done.stdout.size == done.stderr.size == 40 * 65536
    assert done.stdout.read() == b"o" * 40 * 65536 == bytes(heard.stdout)
    assert str(done.stderr.path) in done.stderr.record()
    assert len(done.stderr.record()) < 9000


def test_a_child_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    code = "import os, sys; os.close(1); os.close(2); open(sys.argv[1], 'w').close(); os._exit(7)"

    assert finish(python(code, str(tmp_path / "done"))).exit_code == 7
    assert (tmp_path / "done").exists()


def test_output_of_a_short_lived_grandchild_is_kept() -> None:
    """Like `cmd > >(tee log)` in bash, where tee ends after the shell."""
    code = "import os\nif os.fork() == 0:\n    os.waitid\n    print('late', flush=True)\nelse: os._exit(0)"

    assert finish(python(code)).stdout.text() == "late\n"


def test_a_pipe_held_by_another_process_does_not_block(tmp_path: Path) -> None:
    """Here the test itself holds it and is not a descendant, so reading just stops."""
    code = "import os, sys; print(os.getpid(), flush=True); open(sys.argv[1]).read()"
    os.mkfifo(tmp_path / "go")
    held: list[int] = []

    def hold(_: StreamName, data: bytes) -> None:
        held.append(os.open(f"/proc/{int(data)}/fd/1", os.O_WRONLY))
        (tmp_path / "go").write_bytes(b"go")

    done = finish(python(code, str(tmp_path / "go")), on_output=hold)

    os.close(held[0])
    assert (done.exit_code, done.timed_out) == (0, False)
    assert done.duration_s < PATIENCE_S


@pytest.mark.req("R141")
def test_a_child_that_handles_term_can_clean_up() -> None:
    code = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: (print("cleaned up", flush=True), sys.exit(0)))
print("ready", flush=True)
signal.pause()
"""
    done = given_time(
        lambda timeout_s: finish(python(code, timeout_s=timeout_s)),
        ready=lambda done: "ready" in done.stdout.text(),
    )

    assert (done.exit_code, done.timed_out, done.signal) == (124, True, None)
    assert done.stdout.text() == "ready\ncleaned up\n"


@pytest.mark.req("R141")
def test_the_default_times_are_the_documented_ones() -> None:
    start = Launch(argv=("true",), cwd=Path("/"), env={}, marker=new_marker())

    assert (start.timeout_s, start.grace_s) == (300, 10)


def test_a_child_can_run_without_a_deadline() -> None:
    assert finish(launch("true", timeout_s=float("inf"))).exit_code == 0


@pytest.mark.req("R141")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_child_that_falls_silent_is_ended_before_its_timeout(stream: str) -> None:
    code = f"import sys, time; print('one', file=sys.{stream}, flush=True); time.sleep(60)"
    done = finish(python(code, timeout_s=50, first_output_s=50, silence_s=0.5, grace_s=0.2))

    assert (done.timed_out, done.exit_code, done.survivors) == (True, 124, ())
    assert done.silent_s is not None and done.silent_s >= 0.5
    assert b"one" in done.stdout.read() + done.stderr.read(), "what it had said is kept"


def test_a_child_without_any_output_has_its_own_limit() -> None:
    done = finish(python("import time; time.sleep(60)", timeout_s=50, first_output_s=0.5, grace_s=0.2))

    assert done.timed_out and done.silent_s is not None


def test_a_child_that_receives_data_is_not_silent() -> None:
    """An agent that gets its answer slowly prints nothing until it is complete."""
    heartbeat, over = Heartbeat(), threading.Event()

    def beat() -> None:
        while not over.wait(0.05):
            heartbeat.beat()

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        code = "import time; print('one', flush=True); time.sleep(1.5)"
        done = finish(python(code, first_output_s=PATIENCE_S, silence_s=1, heartbeat=heartbeat))
    finally:
        over.set()
        thread.join()

    assert (done.exit_code, done.timed_out, done.silent_s) == (0, False, None)


@pytest.mark.slow
def test_a_child_with_regular_output_is_not_ended() -> None:
    code = "import time\nfor n in range(35): print(n, flush=True); time.sleep(0.1)"
    done = finish(python(code, first_output_s=PATIENCE_S, silence_s=3))

    assert (done.exit_code, done.timed_out, done.silent_s) == (0, False, None)


@pytest.mark.parametrize(
    ("argv", "changes", "exit_code", "reason"),
    [
        (("no-such-program",), {}, 127, 'program "no-such-program" was not found'),
        (("./no-such-program",), {}, 127, 'program "./no-such-program" was not found'),
        (("/etc/passwd",), {}, 126, "Permission denied"),
        (("true",), {"cwd": Path("/no/such/folder")}, 126, 'folder "/no/such/folder" does not exist'),
        (("true",), {"stdin": Path("/no/such/input")}, 127, "No such file"),
    ],
)
def test_a_program_that_cannot_start_is_a_result_with_a_reason(
    argv: tuple[str, ...], changes: dict[str, Path], exit_code: int, reason: str
) -> None:
    done = finish(launch(*argv, **changes))

    assert done.exit_code == exit_code
    assert reason in (done.not_started or "")


def test_a_program_in_the_childs_folder_needs_a_path(tmp_path: Path) -> None:
    """Otherwise an agent could put a program named git there."""
    program = tmp_path / "git-trap"
    program.write_text("#!/bin/sh\necho trapped\n")
    program.chmod(0o755)

    assert finish(launch("git-trap", cwd=tmp_path)).exit_code == 127
    assert finish(launch("./git-trap", cwd=tmp_path)).stdout.text() == "trapped\n"


def test_a_callback_that_fails_ends_the_child_and_reaches_the_caller(tmp_path: Path) -> None:
    def fail(_: StreamName, __: bytes) -> None:
        raise ZeroDivisionError

    code = "import os, sys, signal; print(os.getpid(), flush=True); signal.pause()"
    marker = new_marker()
    with pytest.raises(ZeroDivisionError):
        finish(python(code, marker=marker), on_output=fail)

    assert sweep(marker) == ()


def test_a_full_disk_is_reported_to_the_caller(tmp_path: Path) -> None:
    """Simulated by a spill folder that cannot be created."""
    (tmp_path / "file").touch()

    with pytest.raises(NotADirectoryError):
        finish(python("print('x' * 200)", spill_dir=tmp_path / "file" / "x", output=OutputLimits(memory=10)))


def test_output_is_read_while_a_cancelled_child_cleans_up(tmp_path: Path) -> None:
    """After TERM it writes more than a pipe holds; unread, it would block and be killed in the middle."""
    code = """
import signal, sys
def clean(*_):
    sys.stdout.write("x" * 1_000_000)
    open(sys.argv[1] + "/clean", "w").close()
    sys.exit()
signal.signal(signal.SIGTERM, clean)
open(sys.argv[1] + "/ready", "w").close()
signal.pause()
"""

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run, python(code, str(tmp_path), cancel_grace_s=15.0))
            await until_async((tmp_path / "ready").exists)
            group.cancel_scope.cancel()

    anyio.run(main)

    assert (tmp_path / "clean").exists()


@pytest.mark.req("R184")
@pytest.mark.parametrize("size", [1, 5, 4096])
def test_a_secret_in_seven_encodings_is_masked_everywhere(size: int, tmp_path: Path) -> None:
    """In chunks on both streams: in memory, the record, the file and the callback."""
    code = """
import os, sys
data = sys.stdin.buffer.read()
step = int(sys.argv[1])
for at in range(0, len(data), step):
    os.write(1, data[at:at + step]); os.write(2, data[at:at + step])
"""
    shapes = [shape.strip('"').encode() for shape in SEVEN.values()]
    text = b"\n".join(shapes) + b"\n"
    heard = Heard()
    start = python(
        code,
        str(size),
        stdin=text * 4,
        mask=Mask({"key": SECRET}),
        spill_dir=tmp_path,
        output=OutputLimits(memory=60, record=20),
    )

    done = finish(start, on_output=heard)

    seen = [done.stdout.read(), done.stderr.read(), bytes(heard.stdout), bytes(heard.stderr)]
    seen += [path.read_bytes() for path in tmp_path.iterdir()]
    assert len(list(tmp_path.iterdir())) == 2
    assert not [shape for shape in shapes for data in seen if shape in data]
    assert done.stdout.read() == done.stderr.read() == b"***\n" * 7 * 4


@pytest.mark.req("R063")
def test_colours_are_removed_on_request_and_binary_output_is_unchanged() -> None:
    start = python("import os; os.write(1, b'\\x1b[31mred\\x1b[0m \\xff')", plain=True)

    assert finish(start).stdout.read() == b"red \xff"
    assert finish(python(start.argv[4])).stdout.read() == b"\x1b[31mred\x1b[0m \xff"


def test_a_process_that_reuses_a_pid_is_not_signalled() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        current = read_process(child.pid)
        assert current is not None
        earlier = Process(child.pid, current.parent, current.session, current.started - 1, is_dead=False)

        assert not send(earlier, signal.SIGKILL)
        child.communicate(b"\n")
    assert child.returncode == 0
    assert not send(current, signal.SIGKILL)


def test_children_are_waited_for_and_ended_also_without_pidfds(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(pid: int, flags: int = 0) -> int:
        raise OSError(errno.ENOSYS, "no pidfd here")

    monkeypatch.setattr(os, "pidfd_open", missing)

    assert finish(python("print('done')")).stdout.text() == "done\n"
    assert finish(python("input()\nwhile True: pass", timeout_s=0.2, grace_s=0.1)).exit_code in {1, 124}
    assert finish(python("import signal; signal.pause()", timeout_s=0.2)).exit_code == 124


def test_a_process_whose_main_thread_has_ended_is_not_dead(tmp_path: Path) -> None:
    """The kernel reports it as a zombie although its other threads are running."""
    code = """
import ctypes, threading, sys
def later():
    open(sys.argv[1], "w").write(str(__import__("os").getpid()))
    threading.Event().wait()
threading.Thread(target=later).start()
ctypes.CDLL(None).pthread_exit(None)
"""
    place = tmp_path / "pid"
    start = launch(sys.executable, "-c", code, str(place), grace_s=0.2)
    done = given_time(
        lambda timeout_s: finish(replace(start, timeout_s=timeout_s, marker=new_marker())),
        ready=lambda _: place.exists(),
    )

    assert (done.exit_code, done.survivors) == (124, ())
    assert read_process(int(place.read_text())) is None


def test_is_gone_recognizes_a_reused_pid() -> None:
    me = read_process(os.getpid())
    assert me is not None
    assert is_gone(Process(me.pid, me.parent, me.session, me.started - 1, is_dead=False))
