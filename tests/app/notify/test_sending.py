"""Sends from a real outbox through channels that fail, are silent, or die in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.stores.outbox import SqliteOutbox
from podium.app.notify.send import Sender, sender_lock
from podium.core.hash_chain import RunId
from podium.core.types import Millis
from podium.ports.channel import Channel, ChannelError, ChannelMessage
from podium.ports.outbox import OutgoingMessage

RUN = RunId("r1")


@dataclass
class FakeChannel:
    faults: list[str] = field(default_factory=list)
    """Why the next tries fail, one after another."""
    sent: list[ChannelMessage] = field(default_factory=list)
    silent: threading.Event | None = None

    def fault(self) -> str:
        return ""

    def send(self, message: ChannelMessage) -> None:
        if self.silent is not None:
            self.silent.wait(60)
        if self.faults:
            raise ChannelError(self.faults.pop(0))
        self.sent.append(message)


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[SqliteOutbox]:
    box = SqliteOutbox(tmp_path / "notifications.db")
    yield box
    box.close()


def message(name: str, channel: str = "ops", *, question: str = "", due: int = 0) -> OutgoingMessage:
    content = ChannelMessage(name, "asked", f"title {name}", "body", {}, Millis(1))
    return OutgoingMessage(content, channel, RUN, Millis(due), question)


def sender(outbox: SqliteOutbox, channels: dict[str, FakeChannel], **options: Any) -> Sender:
    def open_channel(name: str) -> Channel | None:
        return channels.get(name)

    return Sender(outbox, open_channel, now=lambda: Millis(1_000), **options)


def states(outbox: SqliteOutbox) -> dict[str, str]:
    return {each.outgoing.message.id: each.state for each in outbox.messages(limit=100)}


def test_each_message_is_sent_once_in_its_order(outbox: SqliteOutbox) -> None:
    ops = FakeChannel()
    outbox.add(RUN, 5, [message("a"), message("b"), message("a")])

    sender(outbox, {"ops": ops}).send_all(linger_s=0)
    sender(outbox, {"ops": ops}).send_all(linger_s=0)

    assert [each.id for each in ops.sent] == ["a", "b"]
    assert states(outbox) == {"a": "sent", "b": "sent"}


def test_a_message_that_was_being_sent_at_a_crash_is_sent_again_with_its_id(outbox: SqliteOutbox) -> None:
    ops = FakeChannel()
    outbox.add(RUN, 5, [message("a")])
    outbox.begin(["a"], batch="a", now=Millis(1_000))
    assert outbox.due(Millis(2_000)) == ()

    sender(outbox, {"ops": ops}).send_all(linger_s=0)

    assert [each.id for each in ops.sent] == ["a"]


def test_a_failed_message_is_tried_again_later_and_given_up_in_the_end(outbox: SqliteOutbox) -> None:
    ops = FakeChannel(faults=["refused"] * 4)
    outbox.add(RUN, 5, [message("a")])
    now = [0]
    send = Sender(
        outbox, {"ops": ops}.get, now=lambda: Millis(now[0]), retries=(7_200_000, 7_200_000, 7_200_000)
    )
    history = []
    for hour in range(0, 10, 2):
        now[0] = hour * 3_600_000
        send.send_all(linger_s=0)
        stored = outbox.messages(limit=1)[0]
        history.append((stored.state, stored.tries, stored.reason))

    assert history == [
        ("queued", 1, "refused"),
        ("queued", 2, "refused"),
        ("queued", 3, "refused"),
        ("failed", 4, "refused"),
        ("failed", 4, "refused"),
    ]


def test_a_silent_channel_is_left_alone_and_holds_up_no_other(outbox: SqliteOutbox) -> None:
    silent, ops = FakeChannel(silent=threading.Event()), FakeChannel()
    outbox.add(RUN, 5, [message("s", "silent"), message("a"), message("b")])

    sender(outbox, {"silent": silent, "ops": ops}, patience_s=0.3, retries=()).send_all(linger_s=0)

    assert [each.id for each in ops.sent] == ["a", "b"]
    assert states(outbox) == {"s": "failed", "a": "sent", "b": "sent"}
    assert {each.reason for each in outbox.messages(limit=3)} == {"", "no answer within 0.3 s"}
    assert silent.silent is not None
    silent.silent.set()


def test_any_exception_of_a_channel_is_a_failed_try_without_its_text(outbox: SqliteOutbox) -> None:
    """The text may contain the address, and so a password."""

    class Broken(FakeChannel):
        def send(self, message: ChannelMessage) -> None:
            raise KeyError("https://user:password@host")

    outbox.add(RUN, 5, [message("a")])
    sender(outbox, {"ops": Broken()}, retries=()).send_all(linger_s=0)

    assert outbox.messages(limit=1)[0].reason == "KeyError"


def test_a_message_about_an_answered_question_is_not_sent(outbox: SqliteOutbox) -> None:
    ops = FakeChannel()
    outbox.add(RUN, 5, [message("a", question="ask"), message("b", question="other")])
    outbox.add(RUN, 6, [message("c")], answered=["ask"])

    sender(outbox, {"ops": ops}).send_all(linger_s=0)

    assert [each.id for each in ops.sent] == ["b", "c"]
    assert states(outbox)["a"] == "withdrawn"


def test_a_digest_is_one_message_and_the_same_one_after_a_crash(outbox: SqliteOutbox) -> None:
    ops = FakeChannel()
    outbox.add(RUN, 5, [message("a"), message("b")])
    first = sender(outbox, {"ops": FakeChannel(faults=["down"])}, digests=frozenset({"ops"}), retries=(0,))
    first.send_all(linger_s=0)
    batch = outbox.messages(limit=1)[0].batch
    outbox.add(RUN, 6, [message("c")])
    outbox.begin(["a", "b"], batch=batch, now=Millis(1_000))

    sender(outbox, {"ops": ops}, digests=frozenset({"ops"})).send_all(linger_s=0)

    assert [each.id for each in ops.sent] == [batch, "c"]
    assert ops.sent[0].body == "title a\ntitle b"


def test_a_channel_that_is_no_longer_defined_is_a_failed_try(outbox: SqliteOutbox) -> None:
    outbox.add(RUN, 5, [message("a", "gone")])

    sender(outbox, {}, retries=()).send_all(linger_s=0)

    assert outbox.messages(limit=1)[0].reason == "the configuration defines no such channel"


def test_only_one_process_sends(tmp_path: Path) -> None:
    with sender_lock(tmp_path) as first, sender_lock(tmp_path) as second:
        assert (first, second) == (True, False)
    with sender_lock(tmp_path) as third:
        assert third


def test_the_outbox_says_up_to_which_event_messages_are_stored(outbox: SqliteOutbox) -> None:
    assert outbox.seen(RUN) is None
    outbox.add(RUN, 7, [])
    outbox.add(RUN, 5, [])
    assert outbox.seen(RUN) == 7


def test_a_person_who_looks_is_known_for_a_while(outbox: SqliteOutbox) -> None:
    outbox.look("ann", Millis(500))

    assert outbox.is_watched(Millis(400))
    assert not outbox.is_watched(Millis(500))
