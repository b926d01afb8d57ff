"""`python -m tests.crash.killed_senders FOLDER URL KILLS SEED`: senders of messages that are killed, one after another.

Each is a fork of this process, which has imported everything and opened nothing: it stores the messages of two more
events, as the driver of a run does, and sends what the outbox holds until it is killed. The last one is left alone.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from podium.adapters.channels.webhook import WebhookChannel
from podium.adapters.stores.outbox import SqliteOutbox
from podium.app.notify.record import message_id
from podium.app.notify.send import Sender, sender_lock
from podium.core.hash_chain import RunId
from podium.core.types import Millis
from podium.ports.channel import ChannelMessage
from podium.ports.outbox import OutgoingMessage
from tests.sinks import KEY

RUN = RunId("r1")
CHANNELS = ("ops", "ada")
MOST_S = 0.05
"""A sender is killed within this time; a message takes a tenth of it."""


def main(folder: Path, url: str, kills: int, seed: str) -> None:
    chance = random.Random(seed)
    events = 0
    for _ in range(kills):
        events += chance.randint(0, 2)
        child = os.fork()
        if not child:
            _send(folder, url, events)
        time.sleep(chance.uniform(0, MOST_S))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    child = os.fork()
    if not child:
        _send(folder, url, events)
    os.waitpid(child, 0)
    sys.stdout.write(json.dumps({"events": events}))


def _send(folder: Path, url: str, events: int) -> None:
    outbox = SqliteOutbox(folder / "notifications.db")
    seen = outbox.seen(RUN) or 0
    messages = [_message(seq, channel) for seq in range(seen + 1, events + 1) for channel in CHANNELS]
    outbox.add(RUN, events, messages)
    channels = {name: WebhookChannel(f"{url}/{name}", KEY) for name in CHANNELS}
    with sender_lock(folder) as is_ours:
        assert is_ours
        Sender(outbox, channels.get).send_all(linger_s=0)
    os._exit(0)


def _message(seq: int, channel: str) -> OutgoingMessage:
    content = ChannelMessage(
        message_id(RUN, seq, "asked", channel), "asked", f"event {seq}", "body", {"event": seq}, Millis(seq)
    )
    return OutgoingMessage(content, channel, RUN, Millis(0), f"ask~{seq}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
