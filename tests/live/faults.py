"""What can go wrong with an agent, and what must come of it: one table for all programs, with what is special to each."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from podium.testing.models.server import Rule
from tests.live.kit import PROGRAMS

OPENS = int(time.time()) + 5000
"""When a quota window opens again."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`rule` speaks after one good call, in which the program has used a tool."""

    rule: Rule
    kind: str
    """The category, as the core knows it."""
    reason: str
    action: str
    """What the core decides then."""
    words: str = ""
    """In the message for people."""
    special: dict[str, dict[str, object]] = field(default_factory=dict)
    """By program: what is otherwise there."""
    settings: str = ""
    step: str = ""
    """Further keys of the step."""
    refused: bool = False
    """Nobody listens at the address."""
    resets: tuple[str, ...] = ()
    """Programs that tell when the quota window opens again."""
    lacks: tuple[str, ...] = ()
    """Programs that have nothing of this kind."""

    def of(self, program: str) -> Fault:
        known = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Fault(**{**known, **self.special.get(program, {})})


AGAIN = "the same again after a pause"
WINDOW = "waits for the window"
OTHER = "another agent, else error"
REPAIR = "asked again for the answer"
NEXT = "next attempt, with feedback"

LONG = " ".join(f"word {number}" for number in range(50))
"""No two alike: gemini takes a text that repeats itself for a loop, and ends."""

FAULTS = {
    "401": Fault(Rule(status=401, error="no such key"), "unavailable", "auth", OTHER, "no such key"),
    "403": Fault(Rule(status=403, error="not yours"), "unavailable", "auth", OTHER, "not yours"),
    "429": Fault(
        Rule(status=429, error="slow down"),
        "quota",
        "quota",
        WINDOW,
        "slow down",
        special={"codex": {"words": "429"}},
    ),
    "429 with a reset time": Fault(
        Rule(status=429, error="slow down", headers={"Retry-After": "3600"}),
        "quota",
        "quota",
        WINDOW,
        "slow down",
        resets=("codex", "gemini"),
        special={
            "codex": {
                "rule": Rule(
                    status=429,
                    error=json.dumps(
                        {
                            "error": {
                                "type": "usage_limit_reached",
                                "message": "x",
                                "plan_type": "pro",
                                "resets_at": OPENS,
                            }
                        }
                    ),
                ),
                "words": "usage limit",
            }
        },
    ),
    "500": Fault(
        Rule(status=500, error="boom"),
        "transient",
        "transient",
        AGAIN,
        "boom",
        special={"codex": {"words": "high demand"}},
    ),
    "hang": Fault(
        Rule(fault="hang"), "transient", "transient", AGAIN, "it said nothing for", settings=", stall: 6s"
    ),
    "stall": Fault(
        Rule(fault="stall", text=LONG),
        "transient",
        "transient",
        AGAIN,
        "it said nothing for",
        settings=", stall: 6s",
        special={"codex": {"words": "idle timeout"}},
    ),
    "cut": Fault(
        Rule(fault="cut", text=LONG),
        "transient",
        "transient",
        AGAIN,
        special={"codex": {"words": "stream disconnected"}, "gemini": {"words": "terminated"}},
    ),
    "garbled": Fault(
        Rule(fault="garbled", text=LONG),
        "transient",
        "transient",
        AGAIN,
        special={"codex": {"words": "stream disconnected"}, "gemini": {"words": "JSON"}},
    ),
    "refused connection": Fault(
        Rule(),
        "transient",
        "transient",
        AGAIN,
        refused=True,
        special={"claude": {"words": "Unable to connect"}, "codex": {"words": "Connection failed"}},
    ),
    "wrong model": Fault(
        Rule(status=404, error="model x is not found"),
        "unavailable",
        "unavailable",
        OTHER,
        "not found",
        special={
            "claude": {"words": "the selected model"},
            "codex": {
                "rule": Rule(
                    status=404, error="The model `x` does not exist or you do not have access to it."
                ),
                "words": "does not exist",
            },
        },
    ),
    "turn limit": Fault(
        Rule(tools=[("none", {})] * 9),
        "failed",
        "failed",
        NEXT,
        "turns",
        settings=", max_turns: 2",
        lacks=("codex",),
    ),
    "refusal": Fault(
        Rule(stop="refusal", text="I will not"),
        "failed",
        "refused",
        NEXT,
        special={
            "codex": {"rule": Rule(stop="content_filter"), "words": "content_filter"},
            "gemini": {"rule": Rule(stop="SAFETY", text=""), "words": "blocked"},
        },
    ),
    "cut off": Fault(
        Rule(stop="max_tokens", text="The first half of"),
        "malformed",
        "truncated",
        REPAIR,
        "not complete",
        special={
            "codex": {"rule": Rule(stop="max_output_tokens", text="The first half of")},
            "gemini": {"rule": Rule(stop="MAX_TOKENS", text="The first half of")},
        },
    ),
    "loop": Fault(
        Rule(text="The same sentence comes here and goes on for a while. " * 60),
        "malformed",
        "truncated",
        REPAIR,
        "Loop detected",
        lacks=("claude", "codex"),
    ),
    "no structured answer": Fault(
        Rule(text="Here it is: a shed"),
        "malformed",
        "contract",
        REPAIR,
        "JSON",
        step=", output: {schema: {title: string}}",
        special={"claude": {"words": "structured answer"}},
    ),
    "denied tool": Fault(
        Rule(text="I may not"),
        "failed",
        "no_change",
        NEXT,
        step=", tools: [read]",
        special={"codex": {"step": ""}},
    ),
}
ALL = [
    (program, name) for program in PROGRAMS for name, fault in FAULTS.items() if program not in fault.lacks
]
