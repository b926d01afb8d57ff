"""A team whose process is killed at random moments: nothing is lost or doubled, and the mailboxes are those of the log."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path

import pytest

from podium.core.codec import decode
from podium.core.events import Event
from podium.core.types import Address
from podium.views.files.mailboxes import mailbox_files
from podium.views.run.thread import thread_of
from tests.crash.conftest import COUNTS, WholeOf
from tests.crash.enduring import Endurance, assert_as_undisturbed, copied
from tests.crash.nursery import Nursery
from tests.crash.test_random_kills import KILLS, SEED
from tests.e2e.kit import Project

PER_RUN = 5
LEADERS = {Address("deliver"): "engineer"}


def events_of(project: Project) -> list[Event]:
    return [decode(event) for event in _bodies(project)]


def _bodies(project: Project) -> list[dict[str, object]]:
    import json

    with project.store() as store:
        assert store is not None
        return [
            {"type": record.type, **json.loads(record.body)} for record in store.read(store.heads()[0].run)
        ]


def files_below(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.req("R202", "R203", "R204", "R205")
def test_a_team_that_is_killed_at_random_loses_and_doubles_nothing(
    warm: Nursery, whole_of: WholeOf, tmp_path: Path
) -> None:
    kills = 0
    for number in count():
        if kills >= KILLS or number > 4 * KILLS:
            break
        whole = whole_of("team")
        with copied(whole.template, tmp_path / str(number)) as project:
            story = Endurance(warm, "team", project)
            story.harass(min(PER_RUN, KILLS - kills), whole.seconds, random.Random(f"{SEED}/team/{number}"))
            assert_as_undisturbed(story, whole)
            log = events_of(project)
            thread = thread_of(log)
            asked = [(message.sender, message.to, message.outcome) for message in thread.messages]
            assert asked == [
                ("deliver", "qa", "passed"),
                ("deliver", "nobody", "refused"),
                ("deliver", "qa", "passed"),
                ("deliver#1/qa", "architect", "passed"),
                ("deliver", "architect", "passed"),
                ("deliver", "qa", "passed"),
                *asked[6:],
            ]
            assert all(message.answered is not None for message in thread.messages)
            assert [note.text for note in thread.notes] == ["mind the gap", "be quick"]
            folder = project.root / ".podium/runs" / project.run_id() / "team"
            assert files_below(folder) == mailbox_files(log, LEADERS)
        kills += story.crashes
    assert kills
    COUNTS["kills of a team"] += kills
