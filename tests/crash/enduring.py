"""Carries a story to its end through crashes, and compares what has become of it with the undisturbed one."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from podium.core.hash_chain import Record, RunId
from podium.engine.verify import verify
from podium.files.project_paths import ProjectPaths
from podium.process.procfs import send
from tests.crash.nursery import Nursery
from tests.crash.stories import ALL, FILE, Story
from tests.crash.story import artifacts, assert_whole, lasting
from tests.crash.trap import attempt_name, passed
from tests.e2e.kit import Ended, Project, closing, new_project

KILLED = -signal.SIGKILL
MOST_COMMANDS = 20


@dataclass(frozen=True)
class Final:
    """What a story comes to, however often it was interrupted."""

    view: Any
    artifacts: dict[str, bytes]
    charged: dict[str, object]
    """What each answer cost."""


@dataclass(frozen=True)
class Undisturbed:
    template: Path
    final: Final
    points: tuple[str, ...]
    seconds: float


@dataclass(slots=True)
class Endurance:
    """One story in one project."""

    nursery: Nursery
    name: str
    project: Project
    crashes: int = 0
    last: Ended | None = None
    """How the last command ended."""

    @property
    def story(self) -> Story:
        return ALL[self.name]

    def go(self, *ends: str | int, everything: bool = False) -> None:
        """Until the story is over, ending a process at each of the points; with `everything` its children die too."""
        left: list[str | int] = list(ends)
        for command in self._commands():
            at = left[0] if left else None
            if isinstance(at, int):
                at += len(passed(self.project.folder / "points"))
            self.last = self.nursery.podium(self.project, *command, "--json", at=at, story=self.name)
            if self.last.code == KILLED:
                left.pop(0)
                self._crashed(everything=everything)

    def harass(self, kills: int, seconds: float, chance: random.Random) -> None:
        """Until the story is over, killing so many processes at random moments, each alone, with its group, or all."""
        for command in self._commands():
            pid = self.nursery.begin(self.project, *command, "--json", story=self.name)
            how = chance.choice(("alone", "group", "all"))
            if self.crashes < kills and not self.nursery.has_ended(within_s=chance.uniform(0, seconds)):
                _kill(pid, with_group=how != "alone")
            self.last = self.nursery.wait(self.project, pid)
            if self.last.code == KILLED:
                self._crashed(everything=how == "all")

    def _commands(self) -> Iterator[tuple[str, ...]]:
        for _ in range(MOST_COMMANDS):
            command = self._next(self.last)
            if command is None:
                return
            yield command
        raise AssertionError(f"not over after {MOST_COMMANDS} commands")

    def _next(self, done: Ended | None) -> tuple[str, ...] | None:
        with self.project.store() as store:
            heads = store.heads() if store is not None else ()
        if not heads:
            return ("run", FILE)
        if done is None or done.code == KILLED:
            return ("resume", heads[0].run)
        if done.code == 6:
            verb, *options = self.story.answers[done.data()["pending"][0]["path"]]
            return (verb, heads[0].run, *options)
        assert done.code == self.story.code, f"exit {done.code}: {done.err}\n{done.out[:2000]}"
        return None

    def _crashed(self, *, everything: bool) -> None:
        self.crashes += 1
        with self.project.store() as store:
            for head in store.heads() if store is not None else ():
                assert verify(store, ProjectPaths(self.project.root), head).fault is None
                self._remember(head.run, store.read(head.run))
            (self.project.folder / "so_far").write_text(
                str(len(passed(self.project.folder / "points"))), "ascii"
            )
        if everything:
            for process in self.project.marked():
                with suppress(ProcessLookupError):
                    send(process, signal.SIGKILL)

    def _remember(self, run: str, records: Sequence[Record]) -> None:
        """What is recorded now, for a look at the end: nothing of it changes, and nothing answered is done again."""
        folder = self.project.folder
        (folder / f"known.{run}").write_text("\n".join(record.hash for record in records), "ascii")
        ends = [json.loads(record.body) for record in records if record.type == "AttemptEnded"]
        answered = [attempt_name(run, end["path"], end["attempt"]) for end in ends]
        (folder / f"answered.{run}").write_text("\n".join(answered), "utf-8")

    def check(self) -> Final:
        project = self.project
        with project.store() as store:
            runs = [head.run for head in reversed(store.heads())]
        assert len(runs) == self.story.runs, runs
        finals = [self._check_run(run) for run in runs]
        return Final(
            [final.view for final in finals],
            {
                f"{number}/{name}": data
                for number, final in enumerate(finals)
                for name, data in final.artifacts.items()
            },
            {
                f"{number}/{name}": cost
                for number, final in enumerate(finals)
                for name, cost in final.charged.items()
            },
        )

    def _check_run(self, run: RunId) -> Final:
        project, podium = self.project, partial(self.nursery.podium, self.project)
        shown = podium("show", run, "--json")
        assert shown.code == 0, shown.err
        self._check_past(run)
        assert_calls_counted(shown.data(), project.events(run))
        charged = {
            f"{event['path']}#{event['attempt']}": event.get("cost")
            for event in project.events(run)
            if event["type"] == "AttemptEnded"
        }
        assert_whole(project, run, landed=self.story.landed, podium=podium)
        for branch in self.story.branches:
            assert project.git("rev-list", "--count", branch) == str(1 + self.story.landed)
            assert project.git("rev-parse", f"{branch}^{{tree}}") == project.git("rev-parse", "main^{tree}")
        return Final(lasting(shown.data()), artifacts(project, run), charged)

    def _check_past(self, run: RunId) -> None:
        folder = self.project.folder
        if not (folder / f"known.{run}").exists():
            return
        known = (folder / f"known.{run}").read_text("ascii").split()
        hashes = [record.hash for record in self.project.records(run)]
        assert hashes[: len(known)] == known
        answered = set((folder / f"answered.{run}").read_text("utf-8").splitlines())
        later = passed(folder / "points")[int((folder / "so_far").read_text("ascii")) :]
        again = [point.split()[2] for point in later if point.startswith("before attempt ")]
        assert answered.isdisjoint(again), "done again though its answer was recorded"


def assert_calls_counted(view: Any, events: Sequence[dict[str, Any]]) -> None:
    """Every call is in the view: those that ended, and those that died with their owner, of unknown cost."""
    ends = [event for event in events if event["type"] == "AttemptEnded"]
    lost = sum(len(event.get("lost", ())) for event in events if event["type"] == "RunRecovered")
    lost += sum(event["type"] == "AttemptDoubted" for event in events)
    unknown = sum(not end.get("cost_known", True) for end in ends)
    calls = sum(end.get("used", {}).get("calls", 0) for end in ends)
    assert (view["usage"]["calls"], view["cost"]["unknown_calls"]) == (calls + lost, unknown + lost)


def _kill(pid: int, *, with_group: bool) -> None:
    """Its number is its own until the nursery is asked for the next one; its group begins a moment after itself."""
    with suppress(ProcessLookupError):
        if with_group:
            os.killpg(pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)


def undisturbed(nursery: Nursery, name: str, folder: Path) -> Undisturbed:
    template = new_project(folder / "template", ALL[name].all_files())
    for branch in ALL[name].branches:
        template.git("branch", branch)
    with copied(folder / "template", folder / "undisturbed") as project:
        whole = Endurance(nursery, name, project)
        began = time.monotonic()
        whole.go()
        seconds = time.monotonic() - began
        points = tuple(passed(project.folder / "points"))
        return Undisturbed(folder / "template", whole.check(), points, seconds)


def assert_as_undisturbed(story: Endurance, whole: Undisturbed) -> None:
    """Raises AssertionError unless a story that is over came to what the undisturbed one came to."""
    final = story.check()
    assert final.view == whole.final.view
    assert final.artifacts == whole.final.artifacts
    assert final.charged == whole.final.charged


def copied(template: Path, folder: Path) -> Any:
    shutil.copytree(template, folder, symlinks=True)
    return closing(Project(folder))
