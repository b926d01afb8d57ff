"""The contract of stores: subclass it and define `make`; pytest runs the suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from podium.core.hash_chain import FIRST_HASH, RunId, first_fault
from podium.ports.store import AppendConflict, RunHead, StaleOwner, Store, StoreError, TriggerEvent

RUN = RunId("20260101-a")


def run_head(run: RunId = RUN, *, created: int = 1) -> RunHead:
    return RunHead(run, "flow", "f" * 64, created, 0, 0, FIRST_HASH)


def trigger_event(name: str = "one", *, at: int = 5, trigger: str = "nightly") -> TriggerEvent:
    return TriggerEvent("flow.yaml", trigger, name, at, {"id": name})


class StoreContract:
    def make(self) -> Store:
        """A new, empty store."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> Store:
        return self.make()

    @pytest.fixture
    def owned(self, store: Store) -> tuple[Store, int]:
        store.create(run_head())
        return store, store.claim(RUN)

    def test_events_are_read_in_the_order_they_were_appended(self, owned: tuple[Store, int]) -> None:
        store, epoch = owned
        store.append(RUN, [("A", "1"), ("B", "2")], after=0, epoch=epoch, cause="m1")
        store.append(RUN, [("C", "3")], after=2, epoch=epoch, cause="m2")

        records = store.read(RUN)

        assert [(r.seq, r.type, r.body, r.cause) for r in records] == [
            (1, "A", "1", "m1"),
            (2, "B", "2", "m1"),
            (3, "C", "3", "m2"),
        ]
        assert store.read(RUN, after=2) == records[2:]

    def test_a_run_is_created_with_its_first_commands(self, store: Store) -> None:
        store.create(run_head(), {"start": {"say": "start"}})

        assert [(command.name, command.body) for command in store.commands(RUN)] == [
            ("start", {"say": "start"})
        ]

    def test_events_are_chained_to_all_before_them(self, owned: tuple[Store, int]) -> None:
        store, epoch = owned
        store.append(RUN, [("A", "1"), ("B", "2")], after=0, epoch=epoch, cause="m")
        store.append(RUN, [("C", "3")], after=2, epoch=epoch, cause="m")

        records = store.read(RUN)
        head = store.head(RUN)

        assert first_fault(records) is None
        assert head is not None
        assert (head.last_seq, head.last_hash) == (3, records[-1].hash)

    def test_a_stale_owner_is_locked_out_and_writes_nothing(self, owned: tuple[Store, int]) -> None:
        store, epoch = owned
        newer = store.claim(RUN)

        with pytest.raises(StaleOwner):
            store.append(RUN, [("A", "1")], after=0, epoch=epoch, cause="m")

        assert newer == epoch + 1
        assert store.read(RUN) == ()

    @pytest.mark.parametrize("after", [1, -1, 7])
    def test_events_that_do_not_follow_are_refused_together(
        self, owned: tuple[Store, int], after: int
    ) -> None:
        store, epoch = owned

        with pytest.raises(AppendConflict):
            store.append(RUN, [("A", "1"), ("B", "2")], after=after, epoch=epoch, cause="m")

        assert store.read(RUN) == ()

    def test_an_append_of_nothing_changes_nothing(self, owned: tuple[Store, int]) -> None:
        store, epoch = owned

        assert store.append(RUN, [], after=0, epoch=epoch, cause="m") == ()
        assert store.head(RUN) is not None

    def test_a_run_is_created_once(self, store: Store) -> None:
        store.create(run_head())

        with pytest.raises(StoreError, match="already"):
            store.create(run_head())

    @pytest.mark.parametrize(
        "use",
        [
            lambda store: store.claim(RUN),
            lambda store: store.append(RUN, [], after=0, epoch=1, cause=""),
            lambda store: store.set_status(RUN, "passed"),
            lambda store: store.post(RUN, "x", {}),
        ],
    )
    def test_a_run_that_does_not_exist_is_an_error(
        self, store: Store, use: Callable[[Store], object]
    ) -> None:
        with pytest.raises(StoreError, match="does not exist"):
            use(store)

        assert store.head(RUN) is None
        assert store.read(RUN) == ()

    def test_runs_are_listed_newest_first(self, store: Store) -> None:
        for number, name in enumerate(("b", "a", "c")):
            store.create(run_head(RunId(name), created=number))
        store.set_status(RunId("a"), "passed")

        assert [head.run for head in store.heads()] == ["c", "a", "b"]
        assert [head.status for head in store.heads()] == ["running", "passed", "running"]

    def test_commands_are_queued_in_order_until_they_are_answered(self, owned: tuple[Store, int]) -> None:
        store, _ = owned
        store.post(RUN, "one", {"approve": "a"})
        store.post(RUN, "two", {"cancel": True})
        first, second = store.commands(RUN)

        store.answer(first, "done")

        assert (first.name, first.body) == ("one", {"approve": "a"})
        assert store.commands(RUN) == (second,)
        assert (store.reply(RUN, "one"), store.reply(RUN, "two"), store.reply(RUN, "x")) == (
            "done",
            None,
            None,
        )

    def test_a_command_posted_twice_is_queued_once(self, owned: tuple[Store, int]) -> None:
        store, _ = owned
        store.post(RUN, "one", {"n": 1})
        store.answer(store.commands(RUN)[0], "")

        store.post(RUN, "one", {"n": 1})

        assert store.commands(RUN) == ()

    def test_a_command_is_answered_together_with_its_events_or_not_at_all(
        self, owned: tuple[Store, int]
    ) -> None:
        store, epoch = owned
        store.post(RUN, "one", {"n": 1})
        command = store.commands(RUN)[0]

        with pytest.raises(AppendConflict):
            store.append(RUN, [("A", "1")], after=5, epoch=epoch, cause="m", answers=(command, "done"))
        before = store.commands(RUN)
        store.append(RUN, [("A", "1")], after=0, epoch=epoch, cause="m", answers=(command, "done"))

        assert before == (command,)
        assert (store.commands(RUN), store.reply(RUN, "one")) == ((), "done")

    def test_the_status_changes_with_the_events_that_change_it(self, owned: tuple[Store, int]) -> None:
        store, epoch = owned
        store.append(RUN, [("A", "1")], after=0, epoch=epoch, cause="m", status="waiting")
        waiting = store.head(RUN)
        store.append(RUN, [("B", "1")], after=1, epoch=epoch, cause="m")
        still = store.head(RUN)

        assert waiting is not None
        assert still is not None
        assert (waiting.status, still.status) == ("waiting", "waiting")

    def test_the_source_of_a_run_is_stored(self, store: Store) -> None:
        store.create(replace(run_head(), source='{"file": "flow.yaml"}'))

        head = store.head(RUN)

        assert head is not None
        assert head.source == '{"file": "flow.yaml"}'

    def test_forgetting_a_run_deletes_it_and_no_other(self, owned: tuple[Store, int]) -> None:
        """R160"""
        store, epoch = owned
        other = RunId("other")
        store.create(run_head(other))
        store.append(RUN, [("A", "1")], after=0, epoch=epoch, cause="m")
        store.post(RUN, "one", {})
        store.post(other, "one", {})

        store.forget(RUN)
        store.forget(RUN)

        assert (store.head(RUN), store.read(RUN), store.commands(RUN)) == (None, (), ())
        assert [head.run for head in store.heads()] == [other]
        assert len(store.commands(other)) == 1

    def test_runs_are_listed_from_a_number_on(self, store: Store) -> None:
        runs = [RunId(name) for name in ("c", "b", "a")]
        for created, run in enumerate(runs):
            store.create(run_head(run, created=created))
        first, second, third = (number for number, _ in store.heads_from(0))

        assert first < second < third
        assert [head for _, head in store.heads_from(second)] == [store.head(runs[1]), store.head(runs[2])]
        assert store.heads_from(third + 1) == ()

        store.forget(runs[0])
        assert [number for number, _ in store.heads_from(0)] == [second, third]

    def test_the_stamp_changes_when_a_command_may_have_been_queued(self, owned: tuple[Store, int]) -> None:
        store, _ = owned
        before = store.stamp()
        unchanged = store.stamp()

        store.post(RUN, "one", {})

        assert unchanged == before
        assert store.stamp() != before

    def test_an_intact_store_has_no_damage(self, owned: tuple[Store, int]) -> None:
        store, epoch = owned
        store.append(RUN, [("A", "1")], after=0, epoch=epoch, cause="m", status="waiting")
        store.post(RUN, "one", {"text": "ünï"})
        store.post(RUN, "two", {})
        store.answer(store.commands(RUN)[0], "done")
        store.record_events([trigger_event(), trigger_event("two")], {("flow.yaml", "nightly"): "5"})
        store.drop_event(trigger_event("two"), "ünï")

        assert store.damage() is None

    def test_an_event_of_a_trigger_is_stored_once_with_how_far_it_has_looked(self, store: Store) -> None:
        key = ("flow.yaml", "nightly")
        assert store.trigger_mark(*key) is None

        first = store.record_events([trigger_event("two", at=6), trigger_event()], {key: "6"})
        repeated = store.record_events([trigger_event(at=9)], {key: "9"})
        other = store.record_events([trigger_event(trigger="hourly")], {})

        assert (first, repeated, other) == (2, 0, 1)
        assert [(each.at, each.trigger, each.id) for each in store.trigger_events()] == [
            (5, "hourly", "one"),
            (5, "nightly", "one"),
            (6, "nightly", "two"),
        ]
        assert [each.id for each in store.trigger_events(since=6)] == ["two"]
        assert store.trigger_mark(*key) == "9"
        assert store.trigger_mark("flow.yaml", "hourly") is None

    def test_one_run_is_created_for_an_event(self, store: Store) -> None:
        store.record_events([trigger_event()], {})

        store.create(run_head(), {}, trigger_event())

        assert store.trigger_events() == ()
        [settled] = store.trigger_events(since=0)
        assert (settled.state, settled.run, settled.body) == ("started", RUN, {})
        with pytest.raises(StoreError, match="does not wait for a run"):
            store.create(run_head(RunId("20260101-b")), {}, trigger_event())
        assert [head.run for head in store.heads()] == [RUN]
        assert store.record_events([trigger_event()], {}) == 0

    def test_a_dropped_event_says_why_and_starts_nothing(self, store: Store) -> None:
        store.record_events([trigger_event()], {})

        store.drop_event(trigger_event(), "skip_if is true")

        [settled] = store.trigger_events(since=0)
        assert (settled.state, settled.run, settled.reason) == ("dropped", None, "skip_if is true")
        with pytest.raises(StoreError, match="does not wait for a run"):
            store.drop_event(trigger_event(), "again")
        with pytest.raises(StoreError, match="does not wait for a run"):
            store.create(run_head(), {}, trigger_event("unknown"))
        assert store.heads() == ()
