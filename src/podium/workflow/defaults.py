"""The defaults of the language that are in no file."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from podium.core.policy import Backoff, Breaker, Estimate, Limits, Retry
from podium.core.types import MicroUsd, Millis

MINUTE: Final = 60_000

AGENT_TIMEOUT: Final = Millis(20 * MINUTE)
REVIEW_TIMEOUT: Final = Millis(10 * MINUTE)
FINALLY_TIMEOUT: Final = Millis(10 * MINUTE)
COMMAND_TIMEOUT: Final = Millis(5 * MINUTE)
POLL_EVERY: Final = Millis(MINUTE)

LIMITS: Final = Limits(usd=MicroUsd(10_000_000), time=Millis(120 * MINUTE), transitions=200, members=100)
BREAKER: Final = Breaker()
MAX_DEPTH: Final = 8
"""The maximum nesting depth of workflows."""

ESTIMATE: Final = Estimate(usd=MicroUsd(500_000), tokens=100_000)
"""Reserved for a call of an agent without a better estimate."""

CONTEXT_BUDGET: Final = 30_000
"""The tokens of the files that are packed for an agent without a budget."""

AGENT_RETRY: Final = Retry(attempts=3)
OTHER_RETRY: Final = Retry(attempts=1)

PRESETS: Final = MappingProxyType(
    {
        "default": AGENT_RETRY,
        "aggressive": Retry(attempts=5, transient=5, backoff=Backoff(Millis(1_000), 1.5, Millis(60_000))),
        "conservative": Retry(attempts=2, transient=2, backoff=Backoff(Millis(5_000), 3.0, Millis(120_000))),
        "fixed": Retry(attempts=3, backoff=Backoff(Millis(2_000), 1.0, Millis(2_000), 0)),
        "none": Retry(attempts=1, transient=0, repair=0),
    }
)

TEAM_MESSAGES: Final = 30
"""How many messages the members of a team may send unless the step says otherwise."""

LAST_WORD: Final = "done"
"""By which a person ends a conversation unless the file names another word."""

HOLD: Final = Millis(5 * MINUTE)
"""How long a call of a tool is held until somebody has decided about it."""

BASE_REVIEWER: Final = "reviewer"
"""The role of a reviewer when a review names only an agent."""
