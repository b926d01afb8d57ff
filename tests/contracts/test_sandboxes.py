"""Every built-in sandbox satisfies the contract; `limits` also enforces the limits of the policy."""

from __future__ import annotations

import signal
import tempfile
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.adapters.sandboxes import bubblewrap_probe
from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox
from podium.adapters.sandboxes.limits import LimitsSandbox
from podium.adapters.sandboxes.none import NoSandbox
from podium.adapters.sandboxes.select import select_sandboxes
from podium.git.workdir.folder import give_ownership
from podium.ports.sandbox import Sandbox, SandboxPolicy
from podium.process import cgroups
from podium.process.launch import Finished
from podium.process.limits import Limits
from podium.process.procfs import read_marker, read_pids
from podium.testing.sandbox_contract import SandboxContract
from tests.timing import given_time

HUNGRY = "x = b'x' * (1 << 30); print('got it')"


def is_refused(done: Finished) -> bool:
    """Whether memory was refused: by the address space, or by a control group, which kills the process."""
    return "MemoryError" in done.stderr.text() or done.signal == signal.SIGKILL


class TestNoSandbox(SandboxContract):
    def make(self) -> Sandbox:
        return NoSandbox()

    def test_only_the_number_of_processes_and_the_disk_are_limited(self) -> None:
        assert NoSandbox().level == "none"
        assert NoSandbox().in_force[-1] == "disk by measuring"
        assert all(limit.startswith("number of processes by ") for limit in NoSandbox().in_force[:-1])
        assert {"folders in memory", "disk outside its folders"} <= set(NoSandbox().unbounded)


class TestLimitsSandbox(SandboxContract):
    def make(self) -> Sandbox:
        return LimitsSandbox()

    def test_memory_beyond_the_limit_is_refused(self, folder: Path) -> None:
        policy = SandboxPolicy(writable=(folder,), memory_bytes=256 << 20)

        assert is_refused(anyio.run(LimitsSandbox().run, self.launch(folder, HUNGRY), policy))

    def test_the_stricter_of_two_limits_applies(self, folder: Path) -> None:
        launch = replace(self.launch(folder, HUNGRY), limits=Limits(memory_bytes=256 << 20))

        assert is_refused(anyio.run(LimitsSandbox().run, launch, SandboxPolicy(memory_bytes=8 << 30)))

    def test_no_control_group_is_left(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # Other tests that run meanwhile have groups of their own.
        made: list[Path] = []
        make = cgroups._make

        def make_and_note(group: Path, bounds: dict[str, str]) -> Path:
            made.append(group)
            return make(group, bounds)

        monkeypatch.setattr(cgroups, "_make", make_and_note)
        policy = SandboxPolicy(memory_bytes=256 << 20, cpus=0.5)
        anyio.run(LimitsSandbox().run, self.launch(folder, "1"), policy)

        parents = cgroups.find()
        assert len(made) == sum(top is not None for top in (parents.memory, parents.cpu))
        assert not [group for group in made if group.exists()]

    def test_the_enforced_limits_are_listed(self) -> None:
        assert LimitsSandbox().level == "limits"
        assert any(bound.startswith("memory ") for bound in LimitsSandbox().in_force)


class TestBubblewrapSandbox(SandboxContract):
    def make(self) -> Sandbox:
        lacking = bubblewrap_probe.probe()
        if lacking is not None:
            pytest.skip(lacking.reason)
        return BubblewrapSandbox()

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        work = tmp_path / "work"
        work.mkdir()
        give_ownership(work, BubblewrapSandbox().owner)
        return work

    def test_memory_beyond_the_limit_is_refused(self, sandbox: Sandbox, folder: Path) -> None:
        policy = SandboxPolicy(writable=(folder,), memory_bytes=256 << 20)

        assert is_refused(anyio.run(sandbox.run, self.launch(folder, HUNGRY), policy))

    @pytest.mark.parametrize("place", ["/dev/shm", "/tmp", "/var/tmp"])
    def test_a_mount_below_a_new_folder_is_visible_and_its_hidden_part_is_not(
        self, sandbox: Sandbox, place: str
    ) -> None:
        with tempfile.TemporaryDirectory(dir=place) as name:
            folder = Path(name)
            secret = folder / "hidden/secret"
            secret.parent.mkdir()
            secret.write_text("s", "utf-8")
            (folder / "file").write_text("here", "utf-8")
            give_ownership(folder, BubblewrapSandbox().owner)
            policy = replace(self.policy(folder), hidden=(secret.parent,))
            code = f"print(open('file').read(), __import__('os').path.exists({str(secret)!r}))"

            done = anyio.run(sandbox.run, self.launch(folder, code), policy)

        assert (done.stdout.text(), done.stderr.text()) == ("here False\n", "")

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGXCPU])
    def test_the_signal_that_ended_a_process_is_returned(
        self, sandbox: Sandbox, folder: Path, number: int
    ) -> None:
        done = self.finish(sandbox, self.launch(folder, f"import os; os.kill(os.getpid(), {number})"))

        assert (done.exit_code, done.signal) == (128 + number, number)

    def test_a_process_inside_receives_term_and_can_clean_up(self, sandbox: Sandbox, folder: Path) -> None:
        """TERM goes to the process and not to bubblewrap, which would kill it at once (bubblewrap 0.8)."""
        code = (
            "import signal, sys, time\n"
            "def end(*_): open('clean', 'w').close(); sys.exit(0)\n"
            "signal.signal(signal.SIGTERM, end)\n"
            "open('ready', 'w').close()\n"
            "time.sleep(600)"
        )

        def ended(timeout_s: float) -> Finished:
            return self.finish(sandbox, replace(self.launch(folder, code), timeout_s=timeout_s, grace_s=20))

        done = given_time(ended, ready=lambda _: (folder / "ready").exists(), first_s=3)

        assert (done.timed_out, done.exit_code, done.survivors) == (True, 124, ())
        assert (folder / "clean").exists()

    @pytest.mark.slow
    def test_a_process_that_ignores_term_is_killed_after_the_grace(
        self, sandbox: Sandbox, folder: Path
    ) -> None:
        code = (
            "import os, signal, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "if os.fork() == 0: os.setsid()\n"
            "time.sleep(600)"
        )
        launch = replace(self.launch(folder, code), timeout_s=2, grace_s=0.3)

        done = self.finish(sandbox, launch)

        assert (done.exit_code, done.survivors) == (124, ())
        assert not [pid for pid in read_pids() if (read_marker(pid) or "").startswith(launch.marker)]


def test_a_sandbox_can_be_selected_from_within_the_event_loop() -> None:
    """A resumed run asks for the first time when its first step starts."""

    async def select() -> str:
        return select_sandboxes(None, uses_models=False).default.level

    bubblewrap_probe.probe.cache_clear()

    assert anyio.run(select) == select_sandboxes("auto", uses_models=False).default.level
