"""Every log that was ever stored is read, folded and shown as on the day it was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.core.codec import EVENTS
from podium.engine.log import to_text
from tests.golden.logs import LOG, cases, made_of, read

IDS = [case.name for case in cases()]


@pytest.mark.req("R149", "X14")
@pytest.mark.parametrize("case", cases(), ids=IDS)
def test_a_stored_log_stands_for_the_same_state_and_the_same_views(case: Path) -> None:
    log = (case / LOG).read_text("utf-8")

    for name, text in made_of(case, log).items():
        assert text == (case / "views" / name).read_text("utf-8"), f"{case.name}/{name}; see tools/golden.py"


@pytest.mark.parametrize("case", cases(), ids=IDS)
def test_a_stored_event_is_written_as_it_was_read(case: Path) -> None:
    log = (case / LOG).read_text("utf-8")

    assert "".join(f"{to_text(event)}\n" for event in read(log)) == log


def test_the_stored_logs_have_most_kinds_of_events() -> None:
    found = {
        json.loads(line)["type"] for case in cases() for line in (case / LOG).read_text("utf-8").splitlines()
    }

    assert len(found) >= len(EVENTS) * 2 // 3, sorted(set(EVENTS) - found)
