"""Assesses an agent's attempt: its failure, files, answer and quota window, against what was declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from anyio import to_thread

from podium.attempt import artifacts
from podium.attempt.agent import usage as accounting
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.verdict import verdict_of
from podium.attempt.change_policy import objection, protected
from podium.attempt.host import Host
from podium.attempt.prompt.excerpt import BLOCKED
from podium.attempt.result import attempt_ended, digest
from podium.attempt.workspace.workspace import CapturedChange, CaptureRefused, Workspace, captured
from podium.core.events import AttemptEnded
from podium.core.expressions.templates import fill, fill_argv
from podium.core.expressions.values import MAX_TEXT, Meter, as_text
from podium.core.payloads import Amounts
from podium.core.types import AnswerKind, Tree
from podium.git.trees.diff import diff
from podium.ports.agent import AgentResult, AgentTrouble
from podium.process.launch import Finished
from podium.tasks.report import AttemptResult, TokenCounts, VerdictRecord
from podium.workflow.contracts.contract import OutputFault, Value, value_of
from podium.workflow.schema.scalars import tokens

RECORD: Final = 8 * 1024
"""So much of a text stands in the log (R153); the rest is on disk."""

TROUBLES: Final[Mapping[AgentTrouble, tuple[AnswerKind, str]]] = {
    "failed": ("failed", "failed"),
    "refused": ("failed", "refused"),
    "blocked": ("blocked", "blocked"),
    "malformed": ("malformed", "contract"),
    "quota": ("quota", "quota"),
    "transient": ("transient", "transient"),
    "auth": ("unavailable", "auth"),
    "unavailable": ("unavailable", "unavailable"),
    "timeout": ("timeout", ""),
    "error": ("error", "error"),
}
WORKED: Final = frozenset({"failed", "refused", "blocked", "malformed", "timeout"})
"""Troubles after which there may be work worth keeping; after the others the same try is made again from its start."""


async def assess(asking: AgentAttempt, workspace: Workspace, finished: Finished | None) -> AttemptEnded:
    result = asking.story.result
    assert result is not None
    if asking.verb.judge:
        end = _verdict(asking, result)
    elif _says_blocked(result):
        why = result.text.strip().removeprefix(BLOCKED).strip()
        end = await work_of(asking, workspace, replace(result, trouble="blocked", detail=why))
    elif result.trouble is not None and result.trouble not in WORKED:
        end = _troubled(asking, result, result.trouble, asking.asked.start)
    else:
        end = await work_of(asking, workspace, result)
    if finished is not None and finished.not_started is not None:
        # Nothing ran, so nothing was used and nothing is unknown.
        return replace(end, used=Amounts(), cost_known=True)
    told = {**(end.result or {}), **_worker(asking, result)}
    return replace(end, result=told, used=accounting.used_of(result), cost_known=result.cost is not None)


def _says_blocked(result: AgentResult) -> bool:
    """In place of the answer it owes, whatever its shape (R137); a word in the middle of a text is none."""
    said, _, why = result.text.strip().partition(BLOCKED)
    return result.trouble in (None, "malformed") and not said and bool(why.strip())


def _worker(asking: AgentAttempt, result: AgentResult) -> AttemptResult:
    """Who did it and with how many tokens of which kind (R211); sums alone do not explain a bill."""
    worker, usage = asking.story.worker, result.usage
    who: AttemptResult = (
        {}
        if worker is None
        else {"agent": worker.agent, "role": worker.role, "model": result.model or worker.model}
    )
    counts: TokenCounts = {"input": usage.input, "output": usage.output, "cached": usage.cached}
    full = None if worker is None else window_of(result, worker.config)
    return {
        **who,
        "usage": counts,
        "cost_source": result.cost_source,
        **({} if full is None else {"context": full}),
    }


def _troubled(
    asking: AgentAttempt, result: AgentResult, trouble: AgentTrouble, tree: Tree | None
) -> AttemptEnded:
    kind, reason = TROUBLES[trouble]
    fields: AttemptResult = {
        "text": truncate_for_log(result.text),
        "message": truncate_for_log(result.detail or trouble),
    }
    if trouble == "blocked":
        fields["notes"] = truncate_for_log(result.detail)
    end = attempt_ended(asking.host, asking.asked, kind, reason, result=fields, tree=tree)
    return replace(end, retry_at=result.retry_at)


def truncate_for_log(text: str) -> str:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= RECORD:
        return text
    return f"{raw[:RECORD].decode('utf-8', 'ignore')}\n[truncated: the first {RECORD} of {len(raw)} bytes]"


def _verdict(asking: AgentAttempt, result: AgentResult) -> AttemptEnded:
    """A reviewer's work is its verdict; what it did to its checkout is dropped."""
    start = asking.asked.start
    fields: AttemptResult = {"text": truncate_for_log(result.text), "files": []}
    if result.trouble is not None and not (result.trouble == "malformed" and asking.phrase is not None):
        return _troubled(asking, result, result.trouble, start)
    found = verdict_of(
        result.text, (result.has_value, result.value), nonce=asking.nonce, tree=start, phrase=asking.phrase
    )
    if isinstance(found, OutputFault):
        fields["message"] = found.message
        return attempt_ended(asking.host, asking.asked, "malformed", "contract", result=fields, tree=start)
    seen: VerdictRecord = {
        "decision": found.decision,
        "score": found.score,
        "by": [asking.step.name],
        "tree": start,
    }
    fields |= {"summary": truncate_for_log(found.summary), "verdict": seen}
    end = attempt_ended(asking.host, asking.asked, "ok", result=fields, tree=start)
    return replace(end, verdict=found, digest=digest(result.text, start))


async def work_of(asking: AgentAttempt, workspace: Workspace, result: AgentResult) -> AttemptEnded:
    host, asked = asking.host, asking.asked
    taken = await captured(host, workspace, asked)
    if isinstance(taken, CaptureRefused):
        fields: AttemptResult = {"text": truncate_for_log(result.text), "message": taken.message}
        return attempt_ended(host, asked, "failed", taken.reason, result=fields, tree=asked.start)
    end = await _answered(asking, workspace, result, taken)
    shown = await to_thread.run_sync(_change_text, host, asked.base, taken.tree)
    known = {**(end.result or {}), "files": list(taken.files), "diff": truncate_for_log(shown)}
    likeness = await to_thread.run_sync(_likeness, asking, f"{result.text}\n{shown}")
    return replace(
        end,
        result=known,
        tree=taken.tree or asked.start,
        change=taken.change,
        digest=digest(result.text, taken.tree),
        likeness=likeness,
    )


async def _answered(
    asking: AgentAttempt, workspace: Workspace, result: AgentResult, taken: CapturedChange
) -> AttemptEnded:
    """Files that may not be taken weigh most. Whose answer breaks off may not have come to its change, so that
    it is asked again before it is blamed for having made none."""
    host, asked, step = asking.host, asking.asked, asking.step
    if result.trouble is not None and result.trouble != "malformed":
        return _troubled(asking, result, result.trouble, taken.tree)
    refusal = objection(host, step, asking.names, taken)
    if refusal is not None and refusal[0] != "no_change":
        return _refused(asking, result, *refusal)
    if result.trouble is not None:
        return _troubled(asking, result, result.trouble, taken.tree)
    value = value_of(step.output, result.text, (result.has_value, result.value))
    if isinstance(value, OutputFault):
        return _refused(asking, result, "contract", value.message, malformed=value.malformed)
    if refusal is not None:
        return _refused(asking, result, *refusal)
    if step.output.kind == "text" and len(result.text) > MAX_TEXT:
        return _refused(asking, result, "contract", f"the answer has more than {MAX_TEXT} characters")
    globs = fill_argv(step.output.files, asking.names)
    tree = taken.tree or asked.start
    missing = await to_thread.run_sync(artifacts.missing_files, host, globs, tree, workspace.folder)
    if missing is not None:
        return _refused(asking, result, "contract", missing)
    end = await _good(asking, result, value)
    return replace(end, protected=protected(step, asking.names, taken)) if end.kind == "ok" else end


def _refused(
    asking: AgentAttempt, result: AgentResult, reason: str, message: str, *, malformed: bool = False
) -> AttemptEnded:
    fields: AttemptResult = {"text": truncate_for_log(result.text), "message": message}
    return attempt_ended(
        asking.host, asking.asked, "malformed" if malformed else "failed", reason, result=fields, tree=None
    )


async def _good(asking: AgentAttempt, result: AgentResult, value: Value) -> AttemptEnded:
    host, step = asking.host, asking.step
    # A text is what the step was for, and is read on; beside a parsed answer the words are for the record.
    text = result.text if step.output.kind == "text" else truncate_for_log(result.text)
    fields: AttemptResult = {"text": text, "output": value.value}
    said = _admitted(asking, value.value)
    if said is not None:
        kind, notes = said
        reason = "blocked" if kind == "blocked" else "failed"
        return attempt_ended(
            host, asking.asked, kind, reason, result={**fields, "notes": notes, "message": notes}, tree=None
        )
    if step.output.file is not None:
        file = as_text(fill(step.output.file, asking.names), Meter())
        fields[artifacts.ARTIFACTS] = [await to_thread.run_sync(artifacts.keep, host, file, value.value)]
    return attempt_ended(host, asking.asked, "ok", result=fields, tree=None)


def _admitted(asking: AgentAttempt, value: Any) -> tuple[AnswerKind, str] | None:
    """A worker that answers an Implementation may say itself that it could not do it."""
    if asking.step.output.schema_name != "Implementation" or value["status"] == "done":
        return None
    notes = "; ".join(value["blockers"]) or value["summary"]
    return ("blocked" if value["status"] == "blocked" else "failed"), notes


def _change_text(host: Host, base: Tree | None, tree: Tree | None) -> str:
    if host.repository is None or base is None or tree is None or base == tree:
        return ""
    return diff(host.repository, base, tree, limit=4 * RECORD).text


def _likeness(asking: AgentAttempt, essence: str) -> int | None:
    """With the step's previous answer: words and change together, since a worker may say "done" every time."""
    before = asking.work.previous
    if before is None:
        return None
    change = _change_text(asking.host, asking.asked.base, before.tree)
    return accounting.likeness(f"{before.text}\n{change}", essence)


LEVELS: Final = (
    (90, "critical", "split the step, or give it less: the next answer may not fit"),
    (80, "high", "give it less: context.budget, shorter feedback, or continuity: fresh"),
    (60, "watch", "nothing yet; if it goes on growing, start afresh or pack less"),
    (0, "healthy", ""),
)
"""From so many percent on: the level and the recommendation."""


def window_of(result: AgentResult, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where the agent does not tell what its last call read, or nobody the size of its window."""
    size = tokens(config["context_window"]) if config.get("context_window") else result.window
    if result.context is None or not size:
        return None
    percent = round(100 * result.context / size)
    level, advice = next((level, advice) for least, level, advice in LEVELS if percent >= least)
    return {"used": result.context, "window": size, "percent": percent, "health": level, "advice": advice}
