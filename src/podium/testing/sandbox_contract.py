"""The contract of sandboxes of every level: subclass it and define `make`; pytest runs the suite."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.ports.sandbox import Sandbox, SandboxPolicy
from podium.process.launch import Finished, Launch
from podium.process.output import OutputLimits, StreamName
from podium.process.procfs import read_marker, read_pids
from podium.redaction.mask import Mask

LEVELS = ("none", "limits", "bubblewrap", "container")


class SandboxContract:
    added: tuple[str, ...] = ("PWD",)
    """Variables that the sandbox itself sets."""

    def make(self) -> Sandbox:
        raise NotImplementedError

    @pytest.fixture
    def sandbox(self) -> Sandbox:
        return self.make()

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        work = tmp_path / "work"
        work.mkdir()
        return work

    def launch(self, folder: Path, code: str, **more: object) -> Launch:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "ONLY": "this"}
        marker = f"podium-contract-{secrets.token_hex(6)}"
        argv = (sys.executable, "-I", "-c", code)
        return Launch(argv=argv, cwd=folder, env=env, marker=marker, timeout_s=60, **more)  # type: ignore[arg-type]  # passed on

    def policy(self, folder: Path) -> SandboxPolicy:
        return SandboxPolicy(writable=(folder,))

    def finish(self, sandbox: Sandbox, launch: Launch) -> Finished:
        async def go() -> Finished:
            return await sandbox.run(launch, self.policy(launch.cwd))

        return anyio.run(go)

    def test_its_level_is_a_known_level(self, sandbox: Sandbox) -> None:
        assert sandbox.level in LEVELS

    def test_output_and_exit_code_are_returned(self, sandbox: Sandbox, folder: Path) -> None:
        code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

        finished = self.finish(sandbox, self.launch(folder, code))

        assert (finished.exit_code, finished.stdout.text(), finished.stderr.text()) == (3, "out\n", "err\n")

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
    def test_an_exit_code_that_a_program_chose_is_not_a_signal(
        self, sandbox: Sandbox, folder: Path, status: int
    ) -> None:
        """Some programs exit with a status of HTTP modulo 256."""
        done = self.finish(sandbox, self.launch(folder, f"import os; os._exit({status % 256})"))

        assert (done.exit_code, done.signal) == (status % 256, None)

    def test_the_child_gets_only_the_environment_of_the_launch(self, sandbox: Sandbox, folder: Path) -> None:
        code = "import os; print(' '.join(sorted(os.environ)))"

        names = set(self.finish(sandbox, self.launch(folder, code)).stdout.text().split())

        assert {"HOME", "ONLY", "PATH"} <= names
        added = {name for name in names if name.startswith(("PODIUM", "LC_")) or name in self.added}
        assert names - added == {"HOME", "ONLY", "PATH"}

    def test_it_can_write_where_the_policy_allows(self, sandbox: Sandbox, folder: Path) -> None:
        finished = self.finish(sandbox, self.launch(folder, "open('made', 'w').write('x')"))

        assert (finished.exit_code, (folder / "made").read_text()) == (0, "x")

    def test_standard_input_is_passed(self, sandbox: Sandbox, folder: Path) -> None:
        code = "import sys; print(sys.stdin.read().upper())"

        assert self.finish(sandbox, self.launch(folder, code, stdin=b"abc")).stdout.text() == "ABC\n"

    def test_output_is_passed_on_while_it_runs(self, sandbox: Sandbox, folder: Path) -> None:
        received: list[tuple[StreamName, bytes]] = []

        async def go() -> None:
            launch = self.launch(folder, "print('now', flush=True)")
            await sandbox.run(
                launch, self.policy(folder), on_output=lambda name, data: received.append((name, data))
            )

        anyio.run(go)

        assert received == [("stdout", b"now\n")]

    def test_secrets_are_masked_in_the_output(self, sandbox: Sandbox, folder: Path) -> None:
        mask = Mask({"TOKEN": "s3cret-of-the-house"})
        code = "print('s3cret-of-the-' + 'house')"

        assert "s3cret" not in self.finish(sandbox, self.launch(folder, code, mask=mask)).stdout.text()

    def test_too_much_output_goes_to_a_file(self, sandbox: Sandbox, folder: Path) -> None:
        launch = self.launch(
            folder,
            "print('x' * 5000)",
            spill_dir=folder / "out",
            output=OutputLimits(memory=1000, record=100),
        )

        finished = self.finish(sandbox, launch)

        assert finished.stdout.path is not None
        assert finished.stdout.text() == "x" * 5000 + "\n"

    def test_a_process_that_takes_too_long_is_ended(self, sandbox: Sandbox, folder: Path) -> None:
        launch = replace(self.launch(folder, "import time; time.sleep(600)"), timeout_s=0.3, grace_s=0.2)

        finished = self.finish(sandbox, launch)

        assert (finished.timed_out, finished.exit_code, finished.survivors) == (True, 124, ())

    def test_a_missing_program_is_reported(self, sandbox: Sandbox, folder: Path) -> None:
        finished = self.finish(sandbox, replace(self.launch(folder, ""), argv=("no_such_program_at_all",)))

        assert finished.exit_code == 127 or finished.not_started is not None

    def test_a_stray_grandchild_does_not_outlive_the_run(self, sandbox: Sandbox, folder: Path) -> None:
        code = (
            "import os, time\n"
            "if os.fork() == 0:\n"
            "    os.setsid()\n"
            "    open('there', 'w').write('x')\n"
            "    time.sleep(600)\n"
            "while not (os.path.exists('there') and open('there').read()): time.sleep(0.01)\n"
        )
        launch = self.launch(folder, code)

        self.finish(sandbox, launch)

        assert (folder / "there").exists()
        markers = (read_marker(pid) or "" for pid in read_pids())
        assert not any(marker.startswith(launch.marker) for marker in markers)

    def test_cancelling_ends_the_process_and_is_passed_on(self, sandbox: Sandbox, folder: Path) -> None:
        async def go() -> bool:
            with anyio.move_on_after(0.5) as scope:
                await sandbox.run(self.launch(folder, "import time; time.sleep(600)"), self.policy(folder))
            return scope.cancelled_caught

        assert anyio.run(go)
