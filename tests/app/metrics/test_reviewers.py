"""What reviewers are worth, on verdicts that people judged afterwards."""

from __future__ import annotations

from pathlib import Path

from podium.adapters.history.sqlite import SqliteHistory
from podium.views.history.projection import project_run
from tests.app.metrics.history_kit import DAY, MONDAY, asked, table
from tests.views.history.story import Story, approves, rejects


def story_of(number: int, reviewer: str, *, good: bool, approved: bool) -> Story:
    """A reviewer judges a tree, and then a person does."""
    story = Story(run=f"{reviewer}{number}", start=MONDAY + number * DAY, workflow="posts")
    story.enter("write").call("write", "claude", tree="t1", files=1).end("write")
    verdict = approves(8, "t1") if approved else rejects(3, "t1", "wrong")
    story.enter("judge", index=1).call("judge", reviewer, verdict=verdict).end("judge")
    story.enter("sign", index=2).ask("sign", "approve" if good else "reject").end("sign")
    return story


def test_a_stamp_is_told_from_a_good_reviewer_and_from_one_that_rejects_all(tmp_path: Path) -> None:
    history = SqliteHistory(tmp_path / "history.db")
    for reviewer, decides in (
        ("stamp", lambda _: True),
        ("good", lambda good: good),
        ("never", lambda _: False),
    ):
        for number in range(36):
            good = number % 3 > 0
            story = story_of(number, reviewer, good=good, approved=decides(good))
            rows = project_run(f"{reviewer}{number}", "posts", story.finish(), head="h")
            assert rows is not None
            history.put(history.own, rows)
    rows_by_agent = {row["agent"]: row for row in table(asked(history, "reviewers"), "reviewers").rows}
    history.close()

    figures = {
        agent: (
            row["verdicts"],
            row["approved"].hits,
            row["caught"][:2],
            row["let_pass"][:2],
            row["unlabelled"],
        )
        for agent, row in rows_by_agent.items()
    }
    assert figures == {
        "stamp": (36, 36, (0, 12), (24, 24), 0),
        "good": (36, 24, (12, 12), (24, 24), 0),
        "never": (36, 0, (12, 12), (0, 24), 0),
    }
    assert rows_by_agent["stamp"]["note"].startswith("rubber stamp?")
    assert rows_by_agent["good"]["note"] == rows_by_agent["never"]["note"] == ""
