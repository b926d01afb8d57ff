"""The runtime of one machine and that of several satisfy one contract."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.app.project import Project
from podium.app.run.start import RunRequest
from podium.core.hash_chain import RunId
from podium.ports.runtime import Runtime
from podium.testing.runtime_contract import RuntimeContract
from podium.wiring import open_project
from tests.e2e.kit import new_project
from tests.temporal.kit import Server, cluster

CONFIG = {".podium/config.yaml": "sandbox: limits\n"}


def begin(projects: list[Project], root: Path, steps: str, **where: str) -> tuple[Runtime, RunId]:
    (root / "w.yaml").write_text(f"podium: 1\nname: w\nsteps:\n{steps}", "utf-8")
    project = open_project(root, create=True)
    projects.append(project)
    request = RunRequest(definition=project.load(root / "w.yaml"), **where)  # type: ignore[arg-type]  # texts
    return project.runtime, project.commands.start(request).run


class TestOneMachine(RuntimeContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> Iterator[None]:
        self.root = new_project(tmp_path / "p", CONFIG).root
        self.projects: list[Project] = []
        yield
        for project in self.projects:
            project.close()

    def make(self, steps: str) -> tuple[Runtime, RunId]:
        return begin(self.projects, self.root, steps)


@pytest.mark.slow
class TestSeveralMachines(RuntimeContract):
    @pytest.fixture(autouse=True)
    def cluster(
        self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        server: Server = request.getfixturevalue("server")
        with cluster(server, tmp_path / "c", CONFIG) as made:
            monkeypatch.setitem(os.environ, "GIT_CONFIG_NOSYSTEM", "1")
            made.start_worker()
            self.root, self.address = made.project.root, server.address
            self.projects: list[Project] = []
            yield
            for project in self.projects:
                project.close()

    def make(self, steps: str) -> tuple[Runtime, RunId]:
        return begin(self.projects, self.root, steps, on=self.address)
