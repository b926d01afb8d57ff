"""Every built-in sandbox keeps the contract; `limits` also bounds what its walls say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.adapters.sandboxes import probe
from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox
from podium.adapters.sandboxes.limits import LimitsSandbox
from podium.adapters.sandboxes.none import NoSandbox
from podium.attempt.lending import lend
from podium.ports import Sandbox, Walls
from podium.process import Limits
from podium.testing.sandboxes import SandboxContract

HUNGRY = "x = bytearray(3 << 30); print('got it')"


class TestNoSandbox(SandboxContract):
    def make(self) -> Sandbox:
        return NoSandbox()

    def test_nothing_is_said_to_be_in_force(self) -> None:
        assert (NoSandbox().level, NoSandbox().in_force) == ("none", ())


class TestLimitsSandbox(SandboxContract):
    def make(self) -> Sandbox:
        return LimitsSandbox()

    def test_memory_beyond_the_walls_is_refused_to_the_child(self, folder: Path) -> None:
        walls = Walls(writable=(folder,), memory_bytes=1 << 30)

        done = anyio.run(LimitsSandbox().run, self.launch(folder, HUNGRY), walls)

        assert done.exit_code != 0
        assert "MemoryError" in done.stderr.text()

    def test_the_narrower_of_two_bounds_holds(self, folder: Path) -> None:
        launch = replace(self.launch(folder, HUNGRY), limits=Limits(memory_bytes=1 << 30))

        done = anyio.run(LimitsSandbox().run, launch, Walls(memory_bytes=8 << 30))

        assert "MemoryError" in done.stderr.text()

    def test_what_is_in_force_is_named(self) -> None:
        assert LimitsSandbox().level == "limits"
        assert "memory" in LimitsSandbox().in_force


class TestBubblewrapSandbox(SandboxContract):
    def make(self) -> Sandbox:
        lacking = probe.look()
        if lacking is not None:
            pytest.skip(lacking.reason)
        return BubblewrapSandbox()

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        work = tmp_path / "work"
        work.mkdir()
        lend(work, BubblewrapSandbox().owner)
        return work
