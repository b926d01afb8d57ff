"""The Tab key in real shells: each is started at a terminal, sources the script, and a line is typed and completed."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project, until
from tests.e2e.terminal import Terminal

FLOW = "podium: 1\nname: flow\nsteps:\n  say: {run: [echo, hello]}\n  ask: {human: Look at it}\n"
PROGRAM = """\
#!/bin/sh
if [ -n "$_PODIUM_COMPLETE" ]; then exec "{python}" -m podium; fi
echo "LINE[$*]END"
"""
"""Completes as Podium does, and otherwise prints the line that came of it."""
SHELLS = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}
SET_UP = {
    "bash": 'eval "$(_PODIUM_COMPLETE=bash_source podium)"',
    "zsh": 'autoload -Uz compinit; compinit -u -D; eval "$(_PODIUM_COMPLETE=zsh_source podium)"',
    "fish": "_PODIUM_COMPLETE=fish_source podium | source",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    files = {"flows/release.yaml": FLOW, "flows/notes.txt": "", "README.md": ""}
    made = new_project(tmp_path_factory.mktemp("completion"), files)
    with closing(made):
        assert made.podium("run", "flows/release.yaml", "--sandbox", "none").code == 6
        programs = made.folder / "bin"
        programs.mkdir()
        (programs / "podium").write_text(PROGRAM.format(python=sys.executable))
        (programs / "podium").chmod(0o755)
        made.env["PATH"] = f"{programs}:{os.environ['PATH']}"
        made.env["TERM"] = "xterm"
        yield made


@contextmanager
def shell(project: Project, name: str) -> Iterator[Terminal]:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    child = subprocess.Popen(
        SHELLS[name],
        cwd=project.root,
        env=project.environment(),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 (no threads here)
    )
    project.started.append(child)
    os.close(slave)
    try:
        terminal = Terminal(child, master)
        terminal.type(SET_UP[name])
        yield terminal
    finally:
        os.close(master)
        child.kill()
        child.wait()


@pytest.mark.req("C23")
@pytest.mark.parametrize("name", SHELLS)
def test_commands_options_files_runs_and_steps_are_completed(project: Project, name: str) -> None:
    run = project.run_id()
    with shell(project, name) as terminal:
        for typed, line in (
            ("valida\t", "validate"),
            ("run --no-hu\t", "run --no-human"),
            ("run fl\t", "run flows/release.yaml"),
            (f"show {run[:6]}\t", f"show {run}"),
            (f"logs {run} sa\t", f"logs {run} say"),
            (f"approve {run} \t", f"approve {run} ask"),
            ("run-step flows/release.yaml sa\t", "run-step flows/release.yaml say"),
            ("roles show orch\t", "roles show orchestrator"),
            ("run flows/release.yaml --sandbox bub\t", "run flows/release.yaml --sandbox bubblewrap"),
            ("gc --older\t", "gc --older-than"),
        ):
            terminal.type(f"podium {typed}")
            wanted = f"LINE[{line}]END".encode()
            until(partial(terminal.shows, wanted), f"{name} to complete {typed!r}")


def test_nothing_is_written_and_nothing_is_said_where_no_project_is(project: Project, tmp_path: Path) -> None:
    for words in ("podium show ", "podium run-step no.yaml ", "podium approve x ", "podium run "):
        done = subprocess.run(
            [sys.executable, "-m", "podium"],
            cwd=tmp_path,
            env={
                **project.environment(),
                "_PODIUM_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(words.count(" ")),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), words
        assert done.stdout in ("\n", "file,\n"), words
    assert list(tmp_path.iterdir()) == []
