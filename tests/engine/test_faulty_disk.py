"""The disk under the database fails at the n-th write: a clear error, and the run goes on when it is well (issue 6, point 2).

PODIUM_FAULTS says how many places of a run are tried for each kind of fault.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from podium.core.events import StepEnded
from podium.core.hash_chain import RunId
from podium.engine.verify import verify
from podium.files.project_paths import ProjectPaths
from podium.ports.store import StoreError
from podium.wiring import open_project
from tests.adapters.faulty_disk import KINDS, FaultyDisk
from tests.engine.kit import Project, drive

pytestmark = pytest.mark.slow

FAULTS = int(os.environ.get("PODIUM_FAULTS", "4"))
STEPS = """\
  first:
    run: [sh, -c, "echo one"]
  each:
    for_each: [a, b, c]
    steps:
      part:
        run: [sh, -c, "echo part"]
  last:
    run: [sh, -c, "echo two"]
"""


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    made = FaultyDisk()
    yield made
    made.close()


@pytest.mark.timeout(900)
@pytest.mark.req("R146", "R149")
@pytest.mark.parametrize("kind", KINDS)
def test_a_write_that_fails_ends_the_process_with_a_clear_error_and_the_run_goes_on_later(
    kind: str, disk: FaultyDisk, folder: Project
) -> None:
    folder.facade.close()
    file = folder.flow(STEPS)
    attempt(folder, file, disk, at=None)
    writes = disk.writes
    told = Counter[str]()
    for number in range(FAULTS):
        disk.kind, at = kind, 1 + (writes - 1) * number // FAULTS
        run, error = attempt(folder, file, disk, at=at)
        told[error] += 1
        disk.fails_at = None
        assert_goes_on(folder, run, file)
    sys.stdout.write(f"\n{kind}: {FAULTS} of {writes} writes, {dict(told)}\n")
    assert told[""] < FAULTS
    assert not told["unclear"]


def attempt(project: Project, file: object, disk: FaultyDisk, *, at: int | None) -> tuple[RunId | None, str]:
    """A run whose write number `at` and all behind it fail; its name, if it got as far as that, and what was said."""
    disk.writes, disk.fails_at = 0, at
    run: RunId | None = None
    try:
        project.facade = open_project(project.root, create=True)
        begun = project.begin(file)  # type: ignore[arg-type]
        run = begun.run
        drive(project.facade, begun.run, park=True)
    except StoreError as error:
        place, _, fact = error.message.partition(" cannot be used: ")
        return run, fact if place.endswith("podium.db") and error.hint else "unclear"
    finally:
        project.facade.close()
    return run, ""


def assert_goes_on(project: Project, run: RunId | None, file: object) -> None:
    project.facade = open_project(project.root)
    store = project.store
    if run is not None and store.head(run) is not None:
        state = project.resume(run)
    else:
        run, state = project.run(file)  # type: ignore[arg-type]
    assert state.ended is not None
    assert state.ended.status == "passed"
    ends = Counter(event.path for event in project.events(run) if isinstance(event, StepEnded))
    assert set(ends.values()) == {1}
    head = store.head(run)
    assert head is not None
    assert verify(store, ProjectPaths(project.root), head).fault is None
    store.close()
