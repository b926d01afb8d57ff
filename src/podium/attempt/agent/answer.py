"""Makes an agent's answer fit for the record: priced, masked, and without the prompt where that is not recorded."""

from __future__ import annotations

from dataclasses import replace

from anyio import to_thread

from podium.attempt.activity import prompt_lines, without_prompt
from podium.attempt.agent import usage
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.resolve import ResolvedAgent
from podium.ports.agent import AgentResult
from podium.recording import with_texts


async def priced_and_masked(attempt: AgentAttempt, worker: ResolvedAgent, answer: AgentResult) -> AgentResult:
    """Masks the complete texts, since a secret that arrived in two pieces escapes the mask of a stream."""
    # In a thread: the first lookup of a price loads the price table.
    priced = await to_thread.run_sync(usage.with_cost, answer, worker, attempt.host.price_of)
    masked = with_texts(priced, attempt.host.mask.text)
    return replace(
        masked,
        text=_without_lone_surrogates(masked.text),
        detail=_recordable(attempt, _without_lone_surrogates(masked.detail)),
    )


def _recordable(attempt: AgentAttempt, detail: str) -> str:
    """The reason of a failure, which may be what the program printed, and so may repeat the prompt."""
    if attempt.work.config.record.get("prompts", True) or not detail:
        return detail
    lines = prompt_lines(attempt.exchange.system, attempt.exchange.prompt)
    printed = detail.encode("utf-8").splitlines(keepends=True)
    return b"".join(without_prompt(printed, lines)).decode("utf-8").rstrip("\n")


def _without_lone_surrogates(text: str) -> str:
    """JSON can contain a lone surrogate, which cannot be encoded for a file, an argv or another agent."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
