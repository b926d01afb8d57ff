"""A project in a temporary folder, and the facade that runs workflows in it; everything real but the agents."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from podium.app.project import Project as Facade
from podium.app.run.drive import Observer
from podium.app.run.send import SendResult, send
from podium.app.run.start import RunRequest, StartedRun
from podium.core.events import Event
from podium.core.hash_chain import RunId
from podium.core.state import State
from podium.core.types import Address
from podium.engine.local import LocalRuntime
from podium.ports.runtime import OnTurn, Park, RunCommand
from podium.ports.store import Store
from podium.runtime.records import events_of
from podium.runtime.routed import RoutedRuntime
from podium.views.run.view import RunView
from podium.wiring import open_project
from tests.repositories import ANN, make_repository, read_head_commit

HEAD = "podium: 1\nname: flow\n"
TEAM = HEAD + "agents:\n  w: {type: scripted, script: cast.yaml}\n"


def git(folder: Path, *args: str) -> str:
    command = (
        "git",
        "-c",
        "user.name=Ann",
        "-c",
        "user.email=ann@example.com",
        "-c",
        "init.defaultBranch=main",
    )
    done = subprocess.run((*command, *args), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def outcome(state: State, path: str) -> str:
    ending = state.instances[Address(path)].ending
    return "" if ending is None else ending.outcome


def drive(facade: Facade, run: RunId, *, park: Park = True, on_turn: OnTurn | None = None) -> State:
    return anyio.run(partial(facade.commands.drive, run, park=park, observer=Observer(on_turn)))


def output(state: State, path: str) -> object:
    ending = state.instances[Address(path)].ending
    assert ending is not None
    return (ending.result or {}).get("output")


class Project:
    def __init__(self, root: Path, *, repository: bool = True) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        if repository:
            make_repository(root, settings=ANN)
            self.write("README.md", "hello\n")
            self.write(".gitignore", ".podium/\n")
        self.facade: Facade = open_project(root, create=True)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def commit(self) -> str:
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--message=work")
        return read_head_commit(self.root)

    def flow(self, steps: str, *, head: str = HEAD, cast: str = "[]\n") -> Path:
        """A workflow of these steps, committed."""
        self.write("cast.yaml", cast)
        path = self.write("flow.yaml", f"{head}steps:\n{steps}")
        if (self.root / ".git").exists():
            self.commit()
        return path

    @property
    def store(self) -> Store:
        """Where the runs are kept, to look behind the runtime."""
        runtime = self.facade.runtime
        assert isinstance(runtime, RoutedRuntime)
        runtime = runtime.local
        assert isinstance(runtime, LocalRuntime)
        return runtime.store

    def begin(
        self,
        file: Path,
        inputs: Mapping[str, Any] | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> StartedRun:
        definition = self.facade.load(file, settings=settings)
        request = RunRequest(definition=definition, inputs=inputs or {}, sandbox="none", **options)
        return self.facade.commands.start(request)

    def run(self, file: Path, inputs: Mapping[str, Any] | None = None, **options: Any) -> tuple[RunId, State]:
        begun = self.begin(file, inputs, **options)
        return begun.run, drive(self.facade, begun.run, park=True)

    def resume(self, run: RunId) -> State:
        return drive(self.facade, run, park=True)

    def say(self, run: RunId, message: RunCommand, **options: Any) -> SendResult:
        return anyio.run(partial(send, self.facade, run, message, **options))

    def events(self, run: RunId) -> list[Event]:
        return events_of(self.facade.runtime.events(run))

    def view(self, run: RunId) -> RunView:
        return self.facade.queries.show(run)

    def other(self) -> Project:
        """The same project as another process sees it: with a connection of its own."""
        twin = object.__new__(Project)
        twin.root = self.root
        twin.facade = open_project(self.root)
        return twin
