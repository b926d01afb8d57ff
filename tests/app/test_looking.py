"""Looking at runs: find, list, show, follow, verify, logs and open questions, on both stores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from podium.adapters.stores.memory import MemoryStore
from podium.adapters.stores.sqlite import SqliteStore
from podium.app.paths import has_runs, project_root
from podium.app.query.diff import change_of
from podium.app.query.inbox import open_questions, question_data
from podium.app.query.runs import event_data, follow, list_runs, show
from podium.core.codec import encode
from podium.core.hash_chain import Record, RunId
from podium.core.types import Address, Tree
from podium.engine.lease import lease
from podium.engine.log import read_chain_head
from podium.engine.run_folder import RunFolder
from podium.engine.verify import verify
from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths
from podium.ports.store import RunHead, Store, StoreError
from podium.redaction.mask import Mask
from podium.runtime.records import events_of, read_records
from podium.views.files.run_json import list_data, run_data
from tests.views.kit import SILENT, Told, conforms, facade_of, keep, tell


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return tell(tmp_path)


@pytest.fixture
def waiting(tmp_path: Path) -> Told:
    return tell(tmp_path, cast=SILENT)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / ".podium/podium.db")
    yield made
    made.close()


@pytest.mark.req("C31")
def test_a_run_is_found_by_id_prefix_number_or_as_the_newest(store: Store, told: Told) -> None:
    for number, run in enumerate(("2026-a1", "2026-a2", "2027-b"), start=1):
        keep(store, told, run=run, created=number)

    for name, expected in (
        (None, "2027-b"),
        ("latest", "2027-b"),
        ("@1", "2027-b"),
        ("@3", "2026-a1"),
        ("2026-a2", "2026-a2"),
        ("2027", "2027-b"),
    ):
        assert facade_of(store).run(name).run == expected


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("abc", 'run "abc" not found'),
        ("2026", "2 runs begin with 2026: 2026-a2, 2026-a1"),
        ("@9", "run @9 not found: choose from @1"),
        ("@0", "run @0 not found"),
        ("", 'run "" not found'),
    ],
)
def test_a_name_that_means_no_run_is_told_with_the_next_step(told: Told, name: str, fact: str) -> None:
    store = MemoryStore()
    keep(store, told, run="2026-a1", created=1)
    keep(store, told, run="2026-a2", created=2)

    with pytest.raises(ConfigurationError) as caught:
        facade_of(store).run(name)
    assert fact in caught.value.message


def test_without_runs_the_next_step_is_to_start_one() -> None:
    with pytest.raises(ConfigurationError, match="no runs here yet") as caught:
        facade_of(MemoryStore()).run()
    assert caught.value.hint == "podium run FILE starts one"


def test_an_id_that_begins_another_is_found_exactly(told: Told) -> None:
    store = MemoryStore()
    keep(store, told, run="ab", created=1)
    keep(store, told, run="abc", created=2)

    assert facade_of(store).run("ab").run == "ab"


def test_a_list_has_the_status_cost_and_times_of_a_full_view(
    store: Store, told: Told, waiting: Told, tmp_path: Path
) -> None:
    heads = [keep(store, told, run="r1", created=1), keep(store, waiting, run="r2", created=2)]
    views, _ = list_runs(facade_of(store, tmp_path))
    full = [show(facade_of(store, tmp_path), head) for head in reversed(heads)]

    rows = [list_data(view) for view in views]
    conforms(json.loads(json.dumps(rows)), "runs")
    assert rows == [list_data(view) for view in full]
    assert [view.status for view in views] == ["parked", "passed"]


def test_a_run_without_events_is_listed_and_shown(store: Store, told: Told, tmp_path: Path) -> None:
    head = keep(store, told.until(0), status="running")

    (view,), _ = list_runs(facade_of(store, tmp_path))
    assert (view.run, view.workflow, view.status) == ("r1", "ship", "interrupted")
    conforms(json.loads(json.dumps(run_data(show(facade_of(store, tmp_path), head)))), "run")


def test_a_run_whose_owner_is_gone_is_interrupted(store: Store, told: Told, tmp_path: Path) -> None:
    head = keep(store, told.until(3), status="running")

    assert show(facade_of(store, tmp_path), head).status == "interrupted"
    with lease(ProjectPaths(tmp_path).run_dir("r1")):
        assert show(facade_of(store, tmp_path), head).status == "running"
        assert [view.status for view in list_runs(facade_of(store, tmp_path))[0]] == ["running"]


def test_a_waiting_run_is_parked_unless_a_process_owns_it(
    store: Store, waiting: Told, tmp_path: Path
) -> None:
    head = keep(store, waiting)

    assert show(facade_of(store, tmp_path), head).status == "parked"
    with lease(ProjectPaths(tmp_path).run_dir("r1")):
        assert show(facade_of(store, tmp_path), head).status == "waiting"


def test_a_question_is_in_words_by_the_stored_view(store: Store, waiting: Told, tmp_path: Path) -> None:
    head = replace(keep(store, waiting), source="")
    assert show(facade_of(store, tmp_path), head).pending[0].question == ""

    RunFolder(ProjectPaths(tmp_path).run_dir("r1"), Mask()).write(waiting.events, waiting.state)
    assert show(facade_of(store, tmp_path), head).pending[0].question == "Land this?"


def test_a_question_that_was_just_asked_is_in_words_by_the_definition(
    store: Store, waiting: Told, tmp_path: Path
) -> None:
    """The files of a run are up to half a second behind its log, and people answer fast."""
    head = keep(store, waiting)
    early = waiting.until(10)
    RunFolder(ProjectPaths(tmp_path).run_dir("r1"), Mask()).write(early.events, early.state)

    assert show(facade_of(store, tmp_path), head).pending[0].question == "Land this?"


def test_a_changed_definition_does_not_put_other_words_into_a_question(
    store: Store, waiting: Told, tmp_path: Path
) -> None:
    head = keep(store, waiting)
    file = tmp_path / "ship.yaml"
    file.write_text(file.read_text().replace("Land this?", "Delete everything?"))

    assert show(facade_of(store, tmp_path), head).pending[0].question == ""


def test_events_are_followed_to_the_end_of_the_run(store: Store, told: Told) -> None:
    keep(store, told.until(10), status="running")
    rest = [(type(event).__name__, json.dumps(encode(event))) for event in told.events[10:]]

    def more() -> None:
        """The world goes on by three events at each look."""
        head = store.head(RunId("r1"))
        assert head is not None
        batch, rest[:] = rest[:3], rest[3:]
        store.append(RunId("r1"), batch, after=head.last_seq, epoch=0, cause="test")

    seen = []
    for record in follow(facade_of(store).runtime, RunId("r1"), after=4):
        if record is None:
            more()
        else:
            seen.append(record.seq)

    assert seen == list(range(5, len(told.events) + 1))
    assert list(follow(facade_of(store).runtime, RunId("r1"), after=len(told.events))) == []


def test_a_line_of_events_conforms_and_keeps_the_chain(store: Store, told: Told) -> None:
    keep(store, told)
    rows = [event_data(record) for record in store.read(RunId("r1"))]

    for row in rows:
        conforms(row, "events")
    assert [row["prev"] for row in rows[1:]] == [row["hash"] for row in rows[:-1]]
    assert events_of(read_records(store, RunId("r1"))) == list(told.events)


def _whole(store: Store, told: Told, tmp_path: Path) -> RunHead:
    head = keep(store, told)
    folder = ProjectPaths(tmp_path).run_dir("r1")
    folder.mkdir(parents=True)
    (folder / "chain_head").write_text(f"{head.last_seq:>12} {head.last_hash}\n")
    return head


def test_a_whole_log_is_verified(store: Store, told: Told, tmp_path: Path) -> None:
    head = _whole(store, told, tmp_path)

    result = facade_of(store, tmp_path).runtime.verify(head.run)
    assert (result.fault, result.compared, result.events) == (None, True, len(told.events))
    assert result.last_hash == head.last_hash


def test_a_head_outside_may_be_behind_and_never_ahead(told: Told, tmp_path: Path) -> None:
    store = MemoryStore()
    head = _whole(store, told, tmp_path)
    records = store.read(RunId("r1"))
    file = ProjectPaths(tmp_path).run_dir("r1") / "chain_head"

    file.write_text(f"5 {records[4].hash}\n")
    assert facade_of(store, tmp_path).runtime.verify(head.run).fault is None
    file.write_text(f"5 {records[5].hash}\n")
    assert (
        facade_of(store, tmp_path).runtime.verify(head.run).fault
        == "event 5 is not the one that chain_head knows"
    )
    file.write_text(f"{len(records) + 1} {records[4].hash}\n")
    assert "chain_head knows of" in str(verify(store, ProjectPaths(tmp_path), head).fault)
    file.unlink()
    assert (
        facade_of(store, tmp_path).runtime.verify(head.run).fault,
        facade_of(store, tmp_path).runtime.verify(head.run).compared,
    ) == (None, False)


def _alter(records: list[Record]) -> None:
    records[7] = records[7]._replace(body=records[7].body + " ")


def _drop_middle(records: list[Record]) -> None:
    del records[7]


def _drop_end(records: list[Record]) -> None:
    del records[-1]


@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        (_alter, "event 8 has been altered"),
        (_drop_middle, "event 8 is missing"),
        (_drop_end, "the log ends at event"),
    ],
)
def test_a_log_that_was_tampered_with_is_found_out(
    told: Told, tmp_path: Path, harm: Callable[[list[Record]], None], fault: str
) -> None:
    store = MemoryStore()
    head = _whole(store, told, tmp_path)
    harm(store._records[RunId("r1")])

    assert fault in str(facade_of(store, tmp_path).runtime.verify(head.run).fault)


def test_an_end_that_was_cut_off_with_its_head_is_found_by_the_file_outside(
    told: Told, tmp_path: Path
) -> None:
    store = MemoryStore()
    _whole(store, told, tmp_path)
    del store._records[RunId("r1")][-1]
    last = store._records[RunId("r1")][-1]
    head = replace(facade_of(store).run("r1"), last_seq=last.seq, last_hash=last.hash)

    assert "chain_head knows of" in str(verify(store, ProjectPaths(tmp_path), head).fault)


def test_an_event_this_version_cannot_read_is_a_fault_with_the_next_step(told: Told, tmp_path: Path) -> None:
    store = MemoryStore()
    keep(store, told.until(3), status="running")
    store.append(RunId("r1"), [("Unheard", '{"type": "Unheard", "at": 1}')], after=3, epoch=0, cause="x")
    head = facade_of(store).run("r1")

    assert "event 4 of run r1 cannot be read" in str(
        facade_of(store, tmp_path).runtime.verify(head.run).fault
    )
    with pytest.raises(StoreError) as caught:
        show(facade_of(store, tmp_path), head)
    assert caught.value.hint == "see: podium verify r1"


@pytest.mark.parametrize("text", ["", "x y\n", "12\n", "1 2 3\n", "\xff"])
def test_a_head_that_is_no_head_counts_as_missing(tmp_path: Path, text: str) -> None:
    (tmp_path / "chain_head").write_text(text, "utf-8")

    assert read_chain_head(tmp_path) is None


def test_all_open_questions_are_listed_with_what_answers_them(
    store: Store, told: Told, waiting: Told, tmp_path: Path
) -> None:
    keep(store, told, run="r1", created=1)
    keep(store, waiting, run="r2", created=2)
    (question,) = open_questions(facade_of(store, tmp_path))

    data = question_data(question)
    conforms(json.loads(json.dumps([data])), "inbox")
    assert (data["run"], data["path"], data["question"]) == ("r2", "approve", "Land this?")
    assert data["commands"] == ["podium approve r2 approve", "podium reject r2 approve --feedback TEXT"]
    assert {verdict["decision"] for verdict in data["verdicts"]} == {"approve"}


def test_the_files_of_a_run_are_rebuilt_from_its_log(store: Store, told: Told, tmp_path: Path) -> None:
    head = keep(store, told)
    facade_of(store, tmp_path).runtime.rebuild(head.run)

    assert json.loads((ProjectPaths(tmp_path).run_dir("r1") / "run.json").read_text())["status"] == "passed"


def test_a_change_is_from_where_to_where(store: Store, told: Told, tmp_path: Path) -> None:
    view = show(facade_of(store, tmp_path), keep(store, told))

    assert change_of(view) == (view.base, view.tree)
    assert change_of(view, "implement") == (view.base, view.tree)
    assert change_of(view, "plan").base == change_of(view, "plan").tree
    with pytest.raises(ConfigurationError, match='no step "x"'):
        change_of(view, "x")
    (first,) = (step for step in view.steps if step.path == "implement")
    again = first._replace(path=Address("implement~2"), visit=2, tree=Tree("newer"))
    visited = view._replace(steps=(*view.steps, again))
    assert change_of(visited, "implement") == change_of(visited, "implement~2") == (first.base, "newer")
    assert change_of(visited, "implement~1") == (first.base, first.tree)
    assert change_of(visited, "plan") == change_of(view, "plan~1")
    with pytest.raises(ConfigurationError, match="outside of git"):
        change_of(view._replace(base=None))


def test_the_project_is_the_repository_around_or_the_folder_with_runs(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert project_root(inner) == inner
    (tmp_path / "a" / ".podium").mkdir()
    assert project_root(inner) == tmp_path / "a"
    assert not has_runs(tmp_path / "a")
    (tmp_path / "a" / ".podium" / "podium.db").touch()
    assert has_runs(tmp_path / "a")
    (tmp_path / ".git").mkdir()
    assert project_root(inner) == tmp_path
