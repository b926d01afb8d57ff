"""Input that grows while a process runs."""

from __future__ import annotations

import time
from functools import partial

import anyio

from podium.process.launch import LiveInput
from podium.process.output import StreamName
from podium.process.run import run
from tests.process.kit import finish, launch, python


def test_live_input_reaches_a_process_that_already_works_and_ends_when_it_is_closed() -> None:
    live = LiveInput(b"first\n")
    code = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True)\nprint('end')"

    def answer(_: StreamName, data: bytes) -> None:
        if data == b"first\n":
            live.send(b"second\n")
        elif data == b"second\n":
            live.close()
            live.send(b"third\n")

    done = anyio.run(partial(run, python(code, stdin=live), on_output=answer))

    assert done.stdout.text() == "first\nsecond\nend\n"


def test_a_process_that_ends_with_its_answer_may_have_its_input_closed_at_that_moment() -> None:
    """Its answer, its end and the end of its pipe can be reported together."""
    for _ in range(5):
        live = LiveInput(b"first\n")

        def answer(_: StreamName, __: bytes, live: LiveInput = live) -> None:
            time.sleep(0.05)  # Until the process has ended.
            live.close()

        done = anyio.run(partial(run, python("print('answer')", stdin=live), on_output=answer))

        assert (done.exit_code, done.stdout.text()) == (0, "answer\n")


def test_live_input_may_be_longer_than_a_pipe_and_may_be_closed_before_it_is_read() -> None:
    live = LiveInput(b"x" * 1_000_000)
    live.send(b"y" * 1_000_000)
    live.close()

    done = finish(python("import sys; print(len(sys.stdin.read()))", stdin=live))

    assert done.stdout.text() == "2000000\n"


def test_a_process_that_does_not_read_its_live_input_ends_like_any_other() -> None:
    live = LiveInput(b"x" * 1_000_000)
    code = "import os, time; os.close(0); print('closed', flush=True); time.sleep(0.3)"
    started = time.process_time()

    done = finish(python(code, stdin=live))

    assert (done.exit_code, done.stdout.text(), live.is_closed) == (0, "closed\n", True)
    assert time.process_time() - started < 0.2, "it does not wait for the closed pipe in a loop"
    assert finish(launch("no-such-program", stdin=LiveInput(b""))).not_started
