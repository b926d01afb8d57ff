"""What a person tells claude while it works: the lines it reads, and how it says that its model has got them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podium.adapters.agents.claude.stream import ClaudeConversation
from podium.testing.agent_contract import finished_process
from tests.adapters.test_claude_agent import GOOD, request


def test_guidance_counts_as_passed_on_when_claude_repeats_it_and_input_stays_open_until_then(
    tmp_path: Path,
) -> None:
    conversation = ClaudeConversation(request(tmp_path), structured=False)

    def feed(**record: Any) -> None:
        conversation.feed(json.dumps(record).encode() + b"\n")

    line = json.loads(conversation.guide("key", "/hurry"))
    assert line["message"]["content"] == "\n/hurry"
    feed(**GOOD)
    answered = [conversation.has_answered]
    feed(type="user", message=line["message"], uuid="another", isReplay=True)
    feed(type="user", message=line["message"], uuid=line["uuid"])
    assert [*conversation.passed_on()] == []

    feed(type="user", message=line["message"], uuid=line["uuid"], isReplay=True)
    assert [*conversation.passed_on()] == ["key"]
    assert [*conversation.passed_on()] == []
    answered.append(conversation.has_answered)

    feed(**{**GOOD, "result": "done differently"})
    answered.append(conversation.has_answered)
    assert answered == [False, False, True], "guidance after the answer starts another turn"
    assert conversation.finish(finished_process()).text == "done differently"
