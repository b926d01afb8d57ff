"""Kept runs, their pages, the feed of changes, and the evidence of a question, on both stores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.adapters.stores.memory import MemoryStore
from podium.adapters.stores.sqlite import SqliteStore
from podium.app.decide.judge import judge, leave
from podium.app.decide.sender import Speaker
from podium.app.decide.set_aside import set_aside, set_aside_until
from podium.app.query.changes import ChangeFeed
from podium.app.query.evidence import evidence, pending_at
from podium.app.query.run_pages import runs_page
from podium.app.query.runs import show
from podium.app.query.shelf import Shelf
from podium.core.codec import encode
from podium.core.hash_chain import RunId
from podium.core.messages import Approve
from podium.core.types import Address, Millis, Tree
from podium.errors import ConfigurationError
from podium.ports.store import Store
from podium.views.evidence.decisions import channel_of, decisions_of
from podium.views.files.evidence_json import evidence_data
from tests.views.kit import CAST, SILENT, Told, facade_of, keep, tell


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / ".podium/podium.db")
    yield made
    made.close()


@pytest.fixture
def waiting(tmp_path: Path) -> Told:
    return tell(tmp_path, cast=SILENT)


def _append(store: Store, told: Told, first: int, last: int, run: str = "r1") -> None:
    head = store.head(RunId(run))
    assert head is not None
    bodies = [(type(event).__name__, json.dumps(encode(event))) for event in told.events[first:last]]
    store.append(head.run, bodies, after=first, epoch=0, cause="test", status="waiting")


def test_a_kept_run_is_shown_like_one_that_is_read_anew_at_every_moment(
    store: Store, waiting: Told, tmp_path: Path
) -> None:
    project = facade_of(store, tmp_path)
    head = keep(store, waiting.until(1))
    shelf = Shelf(project)

    for number in range(1, len(waiting.events), 3):
        _append(store, waiting, number, min(number + 3, len(waiting.events)))
        head = project.run("r1")
        assert shelf.run("r1").view == show(project, head), number
    assert [each.question for each in shelf.run("r1").view.pending] == ["Land this?"]


def test_a_shelf_drops_the_runs_that_were_looked_at_longest_ago(
    store: Store, waiting: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.app.query.shelf.MOST_RUNS", 2)
    for number in range(4):
        keep(store, waiting, run=f"r{number}", created=number)
    shelf = Shelf(facade_of(store, tmp_path))

    views = [shelf.run(f"r{number}").view for number in (0, 1, 2, 3, 0)]
    assert [view.run for view in views] == ["r0", "r1", "r2", "r3", "r0"]
    assert list(shelf._runs) == ["r3", "r0"]


def test_a_page_of_runs_is_filtered_counted_and_continued(
    store: Store, waiting: Told, tmp_path: Path
) -> None:
    done = tell(tmp_path, cast=CAST, run="rx", task="paint the fence")
    for number in range(5):
        keep(store, waiting, run=f"w{number}", created=number)
    keep(store, done, run="d0", created=9)
    shelf = Shelf(facade_of(store, tmp_path))

    first = runs_page(shelf, limit=4)
    assert [view.run for view in first.runs] == ["d0", "w4", "w3", "w2"]
    assert (first.next, dict(first.counts), first.workflows) == ("w2", {"passed": 1, "parked": 5}, ("ship",))
    second = runs_page(shelf, limit=4, before=first.next)
    assert ([view.run for view in second.runs], second.next) == (["w1", "w0"], "")
    assert [view.run for view in runs_page(shelf, status=("passed",)).runs] == ["d0"]
    assert [view.run for view in runs_page(shelf, text="FENCE").runs] == ["d0"]
    assert runs_page(shelf, workflow="other").runs == ()
    assert [[each.question for each in view.pending] for view in second.runs] == [["Land this?"]] * 2
    with pytest.raises(ConfigurationError, match='run "gone" not found'):
        runs_page(shelf, before="gone")


def test_the_feed_tells_new_events_other_statuses_and_deleted_runs_once(
    waiting: Told, tmp_path: Path
) -> None:
    store, other = (SqliteStore(tmp_path / ".podium/podium.db") for _ in range(2))
    keep(store, waiting, run="r1")
    keep(store, waiting.until(3), run="r2")
    feed = ChangeFeed(Shelf(facade_of(store, tmp_path)))

    assert feed.look() == ()
    _append(other, waiting, 3, 5, run="r2")
    assert [(change.run, change.seq) for change in feed.look()] == [("r2", 5)]
    head = other.head(facade_of(other).run("r1").run)
    assert head is not None
    other.set_status(head.run, "paused")
    assert [(change.run, change.status) for change in feed.look()] == [("r1", "paused")]
    other.forget(head.run)
    assert [(change.run, change.status) for change in feed.look()] == [("r1", "gone")]
    assert feed.look() == ()
    other.close()
    store.close()


def test_only_proof_about_the_tree_of_the_question_counts(
    store: Store, waiting: Told, tmp_path: Path
) -> None:
    keep(store, waiting)
    shelf = Shelf(facade_of(store, tmp_path))
    run = shelf.run("r1")
    proof = evidence(shelf, run, pending_at(run, "approve"))

    # The first attempt failed the tests on another tree; only the second one was judged with success.
    assert [(each.path, each.passed, each.tree) for each in proof.gates] == [
        ("implement#2/tests", True, proof.tree)
    ]
    assert [each.passed for each in proof.verdicts] == [True, True]
    assert proof.gates_before == ()
    assert proof.consequences == {
        "approve": "the run ends",
        "reject": "back to implement",
        "abort": "the run ends",
    }
    assert [each.number for each in proof.attempts if each.path == "implement"] == [1, 2]
    assert json.loads(json.dumps(evidence_data(proof)))["tree"] == proof.tree


def test_a_gate_that_judged_another_tree_stands_apart(store: Store, waiting: Told, tmp_path: Path) -> None:
    keep(store, waiting)
    shelf = Shelf(facade_of(store, tmp_path))
    run = shelf.run("r1")
    asked = pending_at(run, "approve")._replace(tree=Tree("0" * 40))

    proof = evidence(shelf, run, asked)
    assert (proof.gates, proof.verdicts) == ((), ())
    assert [each.path for each in proof.gates_before] == ["implement#2/tests"]


def test_a_closed_question_has_no_evidence(store: Store, tmp_path: Path) -> None:
    keep(store, tell(tmp_path))
    shelf = Shelf(facade_of(store, tmp_path))
    with pytest.raises(ConfigurationError, match="does not wait for an answer"):
        pending_at(shelf.run("r1"), "approve")


def test_an_answer_that_would_be_refused_is_not_stored(store: Store, waiting: Told, tmp_path: Path) -> None:
    head = keep(store, waiting)
    shelf = Shelf(facade_of(store, tmp_path))
    run = shelf.run("r1")
    pending = pending_at(run, "approve")
    ada = Speaker("ada", "web")

    for message, code in (
        (Approve(pending.path, "approve", "ada", tree=Tree("0" * 40)), "stale"),
        (Approve(pending.path, "dance", "ada", tree=pending.tree), "action"),
        (Approve(Address("nowhere"), "approve", "ada"), "not_asked"),
    ):
        refusal = judge(waiting.workflow, run.events, message)
        assert refusal is not None, code
        with pytest.raises(ConfigurationError) as error:
            leave(shelf, run, message, ada)
        assert error.value.code == refusal.code
    assert store.commands(head.run) == ()

    key = leave(shelf, run, Approve(pending.path, "approve", "ada", tree=pending.tree), ada, wakes=False)
    assert [command.name for command in store.commands(head.run)] == [key]
    assert channel_of(f"letter {key}") == "web"


def test_a_decision_is_shown_with_its_channel(store: Store, tmp_path: Path) -> None:
    told = tell(tmp_path)
    seq = next(n for n, event in enumerate(told.events, 1) if type(event).__name__ == "ApprovalGiven")

    for cause, who in (("letter web-12", ", by web"), ("inbox", ", by file"), ("letter 0af3", ""), ("", "")):
        (decision,) = decisions_of(told.events, {seq: cause})
        assert decision.who == f"{decision.by}{who}"


def test_a_question_is_set_aside_for_one_person_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path, hour = Address("approve"), 3_600_000

    assert set_aside(tmp_path, "r1", path, until=Millis(hour), now=Millis(0)) == hour
    assert set_aside_until(tmp_path, "r1", path, now=Millis(1)) == hour
    assert set_aside_until(tmp_path, "r2", path, now=Millis(1)) is None
    assert set_aside_until(tmp_path, "r1", path, now=Millis(hour)) is None
    assert set_aside(tmp_path, "r1", path, until=Millis(10**15), now=Millis(0)) == 30 * 24 * hour
    set_aside(tmp_path, "r1", path, until=Millis(0), now=Millis(5))
    assert set_aside_until(tmp_path, "r1", path, now=Millis(5)) is None
