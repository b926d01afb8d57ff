"""Makes an agent's answer fit for the record: priced, masked, and without the prompt where that is not recorded."""

from __future__ import annotations

from dataclasses import replace

from anyio import to_thread

from podium.attempt.activity import prompt_lines, without_prompt
from podium.attempt.agent import usage
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.resolve import ResolvedAgent
from podium.files.bounded_json import without_lone_surrogates
from podium.ports.agent import AgentResult
from podium.process.ansi import without_sequences
from podium.recording import with_texts
from podium.workflow.contracts.single_json import NotOneValue, fenced_json, one_json


async def priced_and_masked(attempt: AgentAttempt, worker: ResolvedAgent, answer: AgentResult) -> AgentResult:
    """Masks the complete texts, since a secret that arrived in two pieces escapes the mask of a stream."""
    # In a thread: the first lookup of a price loads the price table.
    priced = await to_thread.run_sync(usage.with_cost, answer, worker, attempt.host.price_of)
    plain = replace(priced, text=without_sequences(priced.text), detail=without_sequences(priced.detail))
    masked = _with_fenced_value(attempt, with_texts(plain, attempt.host.mask.text))
    return replace(
        masked,
        text=without_lone_surrogates(masked.text),
        detail=_recordable(attempt, without_lone_surrogates(masked.detail)),
    )


def _with_fenced_value(attempt: AgentAttempt, answer: AgentResult) -> AgentResult:
    """The answer with the value of its only fenced JSON block, if the step wants a value and the answer is prose around it.

    A verdict is not read that way: it approves work, so it has to be exactly what was asked for (R111).
    """
    wants_value = attempt.step.output.kind in ("json", "schema") and not attempt.verb.judge
    if not wants_value or answer.has_value or answer.trouble not in (None, "malformed"):
        return answer
    for read, way in ((one_json, None), (fenced_json, "fenced")):
        try:
            value = read(answer.text)
        except NotOneValue:
            continue
        attempt.exchange.read_as = way
        return replace(answer, value=value, has_value=True, trouble=None, detail="")
    return answer


def _recordable(attempt: AgentAttempt, detail: str) -> str:
    """The reason of a failure, which may be what the program printed, and so may repeat the prompt."""
    if attempt.work.config.record.get("prompts", True) or not detail:
        return detail
    lines = prompt_lines(attempt.exchange.system, attempt.exchange.prompt)
    printed = detail.encode("utf-8").splitlines(keepends=True)
    return b"".join(without_prompt(printed, lines)).decode("utf-8").rstrip("\n")
