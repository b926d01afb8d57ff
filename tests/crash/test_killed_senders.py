"""Each message arrives once per event and channel, or again with the same id if a crash fell between sending and noting.

PODIUM_KILLS_OF_SENDERS says how many crashes, PODIUM_SEED which moments.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from podium.adapters.stores.outbox import SqliteOutbox
from podium.core.types import Millis
from podium.ports.channel import ChannelMessage
from podium.ports.outbox import OutgoingMessage
from tests.crash.killed_senders import CHANNELS, RUN
from tests.e2e.kit import PATIENCE_S, closing, new_project, until
from tests.sinks import KEY, HttpSink, http_sink, verified

KILLS = int(os.environ.get("PODIUM_KILLS_OF_SENDERS", "500"))
SEED = os.environ.get("PODIUM_SEED", "1")
ROOT = Path(__file__).parents[2]


def assert_each_once_or_repeated_by_a_crash(outbox: SqliteOutbox, sink: HttpSink, kills: int) -> Counter[str]:
    stored = outbox.messages(limit=100_000)
    assert {each.state for each in stored} == {"sent"}
    arrived = Counter(delivery.id for delivery in sink.deliveries)
    assert set(arrived) == {each.outgoing.message.id for each in stored}
    for each in stored:
        name = each.outgoing.message.id
        # A try that was noted may have died before anything was sent, so it may be fewer.
        assert 1 <= arrived[name] <= each.tries, name
        texts = {json.dumps(delivery.data()) for delivery in sink.deliveries if delivery.id == name}
        assert len(texts) == 1, texts
    doubled = Counter({name: count - 1 for name, count in arrived.items() if count > 1})
    assert doubled.total() <= kills * len(CHANNELS)
    return doubled


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.req("R197")
def test_messages_arrive_once_or_twice_with_the_same_id(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with http_sink() as sink:
        url = f"http://127.0.0.1:{sink.port}"
        done = subprocess.run(
            (sys.executable, "-m", "tests.crash.killed_senders", str(tmp_path), url, str(KILLS), SEED),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S + KILLS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        events = json.loads(done.stdout)["events"]
        outbox = SqliteOutbox(tmp_path / "notifications.db")
        doubled = assert_each_once_or_repeated_by_a_crash(outbox, sink, KILLS)
        outbox.close()
        for delivery in sink.deliveries:
            verified(delivery, KEY, time.time())
    assert len({delivery.id for delivery in sink.deliveries}) == events * len(CHANNELS)
    record_property("messages", events * len(CHANNELS))
    record_property("repeated", doubled.total())


def _has_more(sink: HttpSink, before: int) -> bool:
    return len(sink.deliveries) > before


@pytest.mark.slow
def test_the_real_sender_is_killed_and_the_next_one_goes_on(tmp_path: Path) -> None:
    with http_sink() as sink, closing(new_project(tmp_path, {}, HOOK=KEY)) as project:
        hooks = dict.fromkeys(CHANNELS, f"{{webhook: '{sink.url}', secret: HOOK, on: [all]}}")
        lines = "".join(f"  {name}: {hook}\n" for name, hook in hooks.items())
        project.put({".podium/config.yaml": f"notify:\n{lines}"})
        outbox = SqliteOutbox(project.root / ".podium/notifications.db")
        for number in range(6):
            content = ChannelMessage(f"msg_{number}", "asked", "title", "body", {}, Millis(number))
            outbox.add(RUN, number, [OutgoingMessage(content, CHANNELS[number % 2], RUN, Millis(0))])
            before = len(sink.deliveries)
            child = project.start("notify", "--send")
            project.while_running(child, partial(_has_more, sink, before), "a message")
            child.send_signal(signal.SIGKILL)
            child.wait()
        assert project.podium("notify", "--send").code == 0
        until(lambda: {each.state for each in outbox.messages(limit=100)} == {"sent"}, "all sent")
        assert_each_once_or_repeated_by_a_crash(outbox, sink, 6)
        outbox.close()
