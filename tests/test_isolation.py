"""Isolation of the tests themselves: a test can reach neither the user's home nor another machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import OutsideCall

ROOT = Path(__file__).parents[1]


def test_home_is_a_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert Path.home().is_relative_to(tmp_path_factory.getbasetemp())
    assert Path(os.environ["XDG_CONFIG_HOME"]).is_relative_to(Path.home())


@pytest.mark.req("R237")
@pytest.mark.parametrize("host", ["192.0.2.1", "example.invalid"])
def test_another_machine_cannot_be_called(host: str) -> None:
    with socket.socket() as caller:
        # Bound to loopback, the kernel itself refuses the call should the guard ever be missing.
        caller.bind(("127.0.0.1", 0))

        with pytest.raises(OutsideCall):
            caller.connect((host, 9))


def test_this_machine_can_be_called() -> None:
    with socket.socket() as server, socket.socket() as caller:
        server.bind(("127.0.0.1", 0))
        server.listen()

        caller.connect(server.getsockname())


def test_a_socket_in_the_file_system_can_be_called(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as caller:
        server.bind(str(tmp_path / "s"))
        server.listen()

        caller.connect(str(tmp_path / "s"))


@pytest.mark.slow
@pytest.mark.parametrize(("require", "exit_code"), [("", 0), ("all", 1)])
def test_a_skip_is_a_failure_where_everything_is_required(
    tmp_path: Path, require: str, exit_code: int
) -> None:
    suite = tmp_path / "test_gap.py"
    suite.write_text("import pytest\ndef test_gap():\n    pytest.skip('no kernel for this')\n", "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PODIUM_REQUIRE": require}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", suite],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == exit_code, done.stdout
    assert "no kernel for this" in done.stdout or not require


@pytest.mark.req("R237")
@pytest.mark.parametrize(
    ("target", "call", "folder", "proof"),
    [
        ("test", "$(PARALLEL) $(FAST)", "tests/core", "@given"),
        ("test", "$(PARALLEL) $(FAST)", "tests/engine", "scripted"),
        ("crash", "tests/crash tests/e2e", "tests/e2e", "podium("),
        ("crash", "tests/crash tests/e2e", "tests/crash", "kill"),
        ("security", "-m security $(SAMPLE) $(AGAIN) tests/security", "tests/security", "mark.security"),
        ("live", "-m live $(SAMPLE) $(AGAIN) tests/live", "tests/live", "claude"),
        ("bench", "-m bench", "bench", "def "),
    ],
)
def test_there_are_tests_of_every_kind_and_a_word_that_runs_them(
    target: str, call: str, folder: str, proof: str
) -> None:
    """Of units, of parts together, of the whole command, of crashes, of attacks, of real agents, and of speed."""
    recipe = (ROOT / "Makefile").read_text("utf-8").partition(f"\n{target}:")[2].partition("\n\n")[0]

    assert call in recipe
    assert any(proof in path.read_text("utf-8") for path in (ROOT / folder).rglob("*.py"))
