"""A container keeps the contract of every sandbox, and says why where it cannot be had."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from podium.adapters.sandboxes.container import ContainerSandbox, find_engine
from podium.attempt.lending import lend
from podium.errors import ConfigurationError
from podium.ports import Sandbox, Walls
from podium.testing.sandboxes import SandboxContract
from podium.wiring import choose_sandbox
from tests.security.containers import IMAGE, made_image, python_mounts

pytestmark = pytest.mark.security


class TestContainerSandbox(SandboxContract):
    added = ("HOSTNAME", "TERM", "container")

    def make(self) -> Sandbox:
        image = made_image()
        if image != IMAGE:
            pytest.skip(image)
        return ContainerSandbox(find_engine(image), image)

    @pytest.fixture
    def folder(self, sandbox: Sandbox, tmp_path: Path) -> Path:
        work = tmp_path / "work"
        work.mkdir()
        lend(work, sandbox.owner)
        return work

    def walls(self, folder: Path) -> Walls:
        return Walls(writable=(folder,), mounts=python_mounts())

    def test_a_way_out_to_single_hosts_is_refused(self, sandbox: Sandbox, folder: Path) -> None:
        walls = Walls(writable=(folder,), network=("packages.example:443",))

        with pytest.raises(ConfigurationError, match="no way out to single hosts"):
            anyio.run(sandbox.run, self.launch(folder, "1"), walls)


def test_a_container_without_an_image_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs an image"):
        choose_sandbox("container")


def test_an_image_that_is_not_there_is_refused_with_the_words_of_the_engine() -> None:
    if made_image() != IMAGE:
        pytest.skip(made_image())

    with pytest.raises(ConfigurationError, match="no-such-image"):
        choose_sandbox("container", "localhost/no-such-image:1")
