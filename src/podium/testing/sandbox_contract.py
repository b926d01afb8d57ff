"""What every sandbox must do, whatever its level. Subclass it, give `make`, and pytest runs the suite."""

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
    """Variables that the walls themselves set."""

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
        return Launch(argv=argv, cwd=folder, env=env, marker=marker, timeout_s=60, **more)  # type: ignore[arg-type]  # as given

    def walls(self, folder: Path) -> SandboxPolicy:
        return SandboxPolicy(writable=(folder,))

    def finish(self, sandbox: Sandbox, launch: Launch) -> Finished:
        async def go() -> Finished:
            return await sandbox.run(launch, self.walls(launch.cwd))

        return anyio.run(go)

    def test_its_level_is_one_of_the_ladder(self, sandbox: Sandbox) -> None:
        assert sandbox.level in LEVELS

    def test_output_and_exit_code_come_back(self, sandbox: Sandbox, folder: Path) -> None:
        code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

        done = self.finish(sandbox, self.launch(folder, code))

        assert (done.exit_code, done.stdout.text(), done.stderr.text()) == (3, "out\n", "err\n")

    def test_the_child_gets_only_the_environment_of_the_launch(self, sandbox: Sandbox, folder: Path) -> None:
        code = "import os; print(' '.join(sorted(os.environ)))"

        names = set(self.finish(sandbox, self.launch(folder, code)).stdout.text().split())

        assert {"HOME", "ONLY", "PATH"} <= names
        added = {name for name in names if name.startswith(("PODIUM", "LC_")) or name in self.added}
        assert names - added == {"HOME", "ONLY", "PATH"}

    def test_it_may_write_where_the_walls_allow(self, sandbox: Sandbox, folder: Path) -> None:
        done = self.finish(sandbox, self.launch(folder, "open('made', 'w').write('x')"))

        assert (done.exit_code, (folder / "made").read_text()) == (0, "x")

    def test_standard_input_is_fed(self, sandbox: Sandbox, folder: Path) -> None:
        code = "import sys; print(sys.stdin.read().upper())"

        assert self.finish(sandbox, self.launch(folder, code, stdin=b"abc")).stdout.text() == "ABC\n"

    def test_output_is_heard_while_it_runs(self, sandbox: Sandbox, folder: Path) -> None:
        heard: list[tuple[StreamName, bytes]] = []

        async def go() -> None:
            launch = self.launch(folder, "print('now', flush=True)")
            await sandbox.run(
                launch, self.walls(folder), on_output=lambda name, data: heard.append((name, data))
            )

        anyio.run(go)

        assert heard == [("stdout", b"now\n")]

    def test_secrets_are_masked_at_the_one_sink(self, sandbox: Sandbox, folder: Path) -> None:
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

        done = self.finish(sandbox, launch)

        assert done.stdout.path is not None
        assert done.stdout.text() == "x" * 5000 + "\n"

    def test_what_takes_too_long_is_ended(self, sandbox: Sandbox, folder: Path) -> None:
        launch = replace(self.launch(folder, "import time; time.sleep(600)"), timeout_s=0.3, grace_s=0.2)

        done = self.finish(sandbox, launch)

        assert (done.timed_out, done.exit_code, done.survivors) == (True, 124, ())

    def test_a_program_that_is_not_there_is_told(self, sandbox: Sandbox, folder: Path) -> None:
        done = self.finish(sandbox, replace(self.launch(folder, ""), argv=("no_such_program_at_all",)))

        assert done.exit_code == 127 or done.not_started is not None

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

    def test_cancelling_ends_it_and_goes_on_as_a_cancellation(self, sandbox: Sandbox, folder: Path) -> None:
        async def go() -> bool:
            with anyio.move_on_after(0.5) as scope:
                await sandbox.run(self.launch(folder, "import time; time.sleep(600)"), self.walls(folder))
            return scope.cancelled_caught

        assert anyio.run(go)
