"""A run that is killed at random moments, again and again, ends as if nothing had happened (issue 3, point 2).

PODIUM_KILLS says how many moments, PODIUM_SEED which ones.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from podium.app.verifying import verify
from podium.core.chain import RunId
from podium.engine.lease import is_owned
from podium.process.procfs import send
from tests.crash.story import FILES, WORKFLOW_FILE, artifacts, assert_whole, lasting
from tests.e2e.kit import Project, closing, new_project, until

KILLS = int(os.environ.get("PODIUM_KILLS", "12"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))
PER_RUN = 4
ROUNDS = -(-KILLS // PER_RUN)
HOW = ("alone", "group", "all")


@dataclass(frozen=True)
class Undisturbed:
    seconds: float
    view: Any
    tree: str
    artifacts: dict[str, bytes]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    with closing(new_project(tmp_path_factory.mktemp("undisturbed"), FILES)) as project:
        begin = time.monotonic()
        done = project.podium("run", WORKFLOW_FILE, "--json")
        seconds = time.monotonic() - begin
        assert done.code == 0, done.err
        run = project.run_id()
        assert_whole(project, run)
        tree = project.git("rev-parse", "main^{tree}")
        found = artifacts(project, run)
        assert sorted(found) == ["report/report.txt", "whole/whole.txt"]
        yield Undisturbed(seconds, shown(project, run), tree, found)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.req("R145", "R146", "R149", "X11", "X15")
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_run_killed_at_random_moments_ends_as_if_undisturbed(
    turn: int, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    kills, tries = 0, 0
    while kills < PER_RUN:
        seed = f"{SEED}/{turn}/{tries}"
        chance = random.Random(seed)
        moments = spread(turn, undisturbed.seconds, chance)[kills:]
        with closing(new_project(tmp_path / str(tries), FILES)) as project:
            kills += len(harassed(project, moments, chance))
            run = project.run_id()
            try:
                assert shown(project, run) == undisturbed.view
                assert project.git("rev-parse", "main^{tree}") == undisturbed.tree
                assert artifacts(project, run) == undisturbed.artifacts
                assert_whole(project, run)
            except AssertionError as error:
                error.add_note(f"PODIUM_SEED={SEED} PODIUM_KILLS={KILLS}, turn {turn}: {seed}, {moments}")
                raise
        tries += 1


def spread(turn: int, seconds: float, chance: random.Random) -> list[float]:
    """Pauses before the kills of one turn. Together, the moments of all turns cover the whole length of a run."""
    share = seconds / PER_RUN
    # Of each share of the run another part in each turn.
    at = [share * (number + (turn + chance.random()) / ROUNDS) for number in range(PER_RUN)]
    return [later - earlier for earlier, later in zip([0.0, *at], at, strict=False)]


def harassed(project: Project, pauses: list[float], chance: random.Random) -> list[str]:
    """Carries a run to its end with a kill after each of the pauses; tells how each was done."""
    kills: list[str] = []
    for pause in pauses:
        child = carry_on(project)
        if kills:
            # A process that still reads its modules has nothing to lose; the first one covers that.
            until(lambda child=child: is_at_work(project) or child.poll() is not None, "an owner")  # type: ignore[misc]
        try:
            code = child.wait(timeout=pause)
        except subprocess.TimeoutExpired:
            kills.append(kill(project, child, chance.choice(HOW)))
            assert faults(project) == []
            continue
        assert code == 0, f"after {kills}: {project.talk()}"
        break
    code = carry_on(project).wait(timeout=120)
    assert code == 0, f"after {kills}: {project.talk()}"
    return kills


def carry_on(project: Project) -> subprocess.Popen[bytes]:
    with project.store() as store:
        exists = store is not None and store.heads()
    return project.start(*(("resume",) if exists else ("run", WORKFLOW_FILE)))


def is_at_work(project: Project) -> bool:
    folder = project.root / ".podium/runs"
    return folder.is_dir() and any(is_owned(run) for run in folder.iterdir())


def faults(project: Project) -> list[str]:
    """What is wrong with the log right after a kill."""
    with project.store() as store:
        heads = store.heads() if store is not None else ()
        return [fault for head in heads if (fault := verify(store, project.root, head).fault) is not None]


def kill(project: Project, child: subprocess.Popen[bytes], how: str) -> str:
    if how == "alone":
        child.kill()
    else:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if how == "all":
        for process in project.marked():
            with suppress(ProcessLookupError):
                send(process, signal.SIGKILL)
    return how


def shown(project: Project, run: RunId) -> Any:
    done = project.podium("show", run, "--json")
    assert done.code == 0, done.err
    return lasting(done.data())
