"""Assesses an agent's attempt: its failure, changed files and answer, against what the step declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from anyio import to_thread

from podium.attempt import artifacts
from podium.attempt.agent import quality_gate
from podium.attempt.agent import usage as accounting
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.team_answer import awaits_approval, undecided_calls, with_lost_asks, words_for_team
from podium.attempt.agent.tests_changed import claims_in
from podium.attempt.agent.verdict import BINDING, accepted_tests, verdict_of
from podium.attempt.change_policy import objection, protected
from podium.attempt.host import Host
from podium.attempt.prompt.excerpt import BLOCKED
from podium.attempt.result import attempt_ended, digest
from podium.attempt.workspace.workspace import CapturedChange, CaptureRefused, Workspace, capture_change
from podium.core.events import AttemptEnded
from podium.core.expressions.templates import fill_argv
from podium.core.expressions.values import MAX_TEXT
from podium.core.payloads import Amounts, Verdict
from podium.core.types import AnswerKind, Tree
from podium.git.trees.diff import changed_paths, diff
from podium.ports.agent import AgentResult, AgentTrouble
from podium.ports.retry_time import retry_time
from podium.process.launch import Finished
from podium.tasks.report import AttemptResult, TokenCounts, VerdictRecord
from podium.workflow.contracts.contract import OutputFault, Value, read_json, value_of
from podium.workflow.schema.scalars import tokens

MAX_LOGGED_BYTES: Final = 8 * 1024
"""Bytes of a text that go into the log (R153); the full text is on disk."""

FAILURES: Final[Mapping[AgentTrouble, tuple[AnswerKind, str]]] = {
    "failed": ("failed", "failed"),
    "refused": ("failed", "refused"),
    "blocked": ("blocked", "blocked"),
    "malformed": ("malformed", "contract"),
    "truncated": ("malformed", "truncated"),
    "quota": ("quota", "quota"),
    "transient": ("transient", "transient"),
    "auth": ("unavailable", "auth"),
    "unavailable": ("unavailable", "unavailable"),
    "timeout": ("timeout", ""),
    "resources": ("failed", "resources"),
    "error": ("error", "error"),
}
MAY_HAVE_WORK: Final = frozenset({"failed", "refused", "blocked", "malformed", "truncated", "timeout"})
"""Failures that may leave work worth keeping; after any other failure the attempt is repeated from its start."""


async def assess(attempt: AgentAttempt, workspace: Workspace, finished: Finished | None) -> AttemptEnded:
    result = attempt.exchange.result
    assert result is not None
    if attempt.verb.judge:
        end = await _verdict(attempt, result)
    elif _blocked_by_tool(attempt, result):
        why = "" if attempt.exchange.tools is None else attempt.exchange.tools.blocked
        end = await assess_work(attempt, workspace, replace(result, trouble="blocked", detail=why))
    elif _says_blocked(result):
        why = result.text.strip().removeprefix(BLOCKED).strip()
        end = await assess_work(attempt, workspace, replace(result, trouble="blocked", detail=why))
    elif (
        result.trouble is not None
        and result.trouble not in MAY_HAVE_WORK
        and not awaits_approval(attempt, result)
    ):
        end = _troubled(attempt, result, result.trouble, attempt.started.start)
    else:
        end = await _assess_member(attempt, workspace, result)
    if finished is not None and finished.not_started is not None:
        # Nothing ran, so nothing was used and nothing is unknown.
        return replace(end, used=Amounts(), cost_known=True)
    fields = {**(end.result or {}), **_agent_facts(attempt, result)}
    return replace(
        end,
        result=fields,
        used=accounting.used_of(result),
        cost_known=result.cost is not None,
        window=result.quota,
    )


def _says_blocked(result: AgentResult) -> bool:
    """Whether the answer starts with the BLOCKED marker (R137); one in the middle of a text does not count."""
    before, _, why = result.text.strip().partition(BLOCKED)
    return result.trouble in (None, "malformed") and not before and bool(why.strip())


def _blocked_by_tool(attempt: AgentAttempt, result: AgentResult) -> bool:
    tools = attempt.exchange.tools
    return tools is not None and bool(tools.blocked) and result.trouble in (None, "malformed")


def _agent_facts(attempt: AgentAttempt, result: AgentResult) -> AttemptResult:
    """The agent, its role and model, and its tokens by kind (R211); a total alone does not explain the cost."""
    worker, usage = attempt.exchange.worker, result.usage
    identity: AttemptResult = (
        {}
        if worker is None
        else {
            "agent": worker.agent,
            "role": worker.role,
            "model": result.model or worker.model,
            "instructions": worker.instructions,
        }
    )
    counts: TokenCounts = {"input": usage.input, "output": usage.output, "cached": usage.cached}
    context = None if worker is None else window_of(result, worker.config)
    return {
        **identity,
        "usage": counts,
        "cost_source": result.cost_source,
        **({"simulated": worker.type} if result.simulated and worker is not None else {}),
        **({} if context is None else {"context": context}),
        **({} if attempt.exchange.read_as is None else {"read_as": attempt.exchange.read_as}),
    }


def _troubled(
    attempt: AgentAttempt, result: AgentResult, trouble: AgentTrouble, tree: Tree | None
) -> AttemptEnded:
    kind, reason = FAILURES[trouble]
    fields: AttemptResult = {
        "text": truncate_for_log(result.text),
        "message": truncate_for_log(result.detail or trouble),
    }
    if trouble == "blocked":
        fields["notes"] = truncate_for_log(result.detail)
    end = attempt_ended(attempt.host, attempt.started, kind, reason, result=fields, tree=tree)
    return replace(end, retry_at=retry_time(result.retry_at, end.at))


def truncate_for_log(text: str) -> str:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= MAX_LOGGED_BYTES:
        return text
    return f"{raw[:MAX_LOGGED_BYTES].decode('utf-8', 'ignore')}\n[truncated: the first {MAX_LOGGED_BYTES} of {len(raw)} bytes]"


async def _verdict(attempt: AgentAttempt, result: AgentResult) -> AttemptEnded:
    """A reviewer's only result is its verdict; changes to its checkout are dropped."""
    start = attempt.started.start
    fields: AttemptResult = {"text": truncate_for_log(result.text), "files": []}
    if result.trouble is not None and not (result.trouble == "malformed" and attempt.phrase is not None):
        return _troubled(attempt, result, result.trouble, start)
    verdict = verdict_of(
        result.text,
        (result.has_value, result.value),
        nonce=attempt.nonce,
        tree=start,
        review=attempt.work.review,
    )
    if isinstance(verdict, OutputFault):
        fields["message"] = verdict.message
        return attempt_ended(
            attempt.host, attempt.started, "malformed", "contract", result=fields, tree=start
        )
    answer = _answered_value(attempt, result, verdict)
    scores = quality_gate.scores_by_target(answer) if attempt.verdict_form == "quality_gate" else {}
    record: VerdictRecord = {
        "decision": verdict.decision,
        "score": verdict.score,
        "by": [attempt.step.name],
        "tree": start,
    }
    if scores:
        record["scores"] = scores
    fields |= {"summary": truncate_for_log(verdict.summary), "verdict": record}
    fields |= await _kept_files(attempt, answer)
    if attempt.disputed:
        fields["accepted_tests"] = accepted_tests(verdict, attempt.disputed)
    end = attempt_ended(attempt.host, attempt.started, "ok", result=fields, tree=start)
    return replace(end, verdict=verdict, digest=digest(result.text, start))


def _answered_value(attempt: AgentAttempt, result: AgentResult, verdict: Verdict) -> Any:
    """The answer of a judge as a file has it: in the words of its form, else the text."""
    read = Value(result.value) if result.has_value else read_json(result.text)
    if isinstance(read, OutputFault):
        return result.text
    if attempt.verdict_form == "quality_gate":
        return quality_gate.in_own_words(read.value, verdict)
    return {key: each for key, each in read.value.items() if key not in BINDING}


async def _kept_files(attempt: AgentAttempt, value: Any) -> AttemptResult:
    """The artifact of an answer, if the step declares a file for it."""
    if attempt.step.output.file is None:
        return {}
    artifact = await to_thread.run_sync(
        artifacts.keep_output, attempt.host, attempt.step, attempt.names, value
    )
    return {"artifacts": [artifact]}


async def _assess_member(attempt: AgentAttempt, workspace: Workspace, result: AgentResult) -> AttemptEnded:
    """The work of one who may belong to a team: an attempt that asks somebody is kept and not judged."""
    if awaits_approval(attempt, result):
        result = replace(result, trouble=None, detail="")
        if attempt.drops_changes:
            end = await _only_answer(attempt, result, is_asking=True)
        else:
            end = await assess_work(attempt, workspace, result, is_asking=True)
        return replace(end, calls=undecided_calls(attempt) if end.kind == "asked" else ())
    result = with_lost_asks(attempt, result)
    result, words = words_for_team(attempt, result)
    if isinstance(words, OutputFault):
        end = _refused(attempt, result, "contract", words.message, malformed=True)
        return replace(end, tree=attempt.started.start)
    if attempt.drops_changes:
        end = await _only_answer(attempt, result, is_asking=bool(words.asks))
    else:
        end = await assess_work(attempt, workspace, result, is_asking=bool(words.asks))
    asks = words.asks if end.kind == "asked" else ()
    return replace(end, asks=asks, notes=words.notes, so_far=words.so_far if asks else "")


async def _only_answer(attempt: AgentAttempt, result: AgentResult, *, is_asking: bool) -> AttemptEnded:
    start = attempt.started.start
    if is_asking:
        return _waiting_for_team(attempt, result, start)
    if result.trouble is not None:
        return _troubled(attempt, result, result.trouble, start)
    value = value_of(attempt.step.output, result.text, (result.has_value, result.value))
    if isinstance(value, OutputFault):
        end = _refused(attempt, result, "contract", value.message, malformed=value.malformed)
    else:
        end = await _accept(attempt, result, value)
    return replace(end, tree=start, digest=digest(result.text, start))


def _waiting_for_team(attempt: AgentAttempt, result: AgentResult, tree: Tree | None) -> AttemptEnded:
    fields: AttemptResult = {"text": truncate_for_log(result.text)}
    return attempt_ended(attempt.host, attempt.started, "asked", result=fields, tree=tree)


async def assess_work(
    attempt: AgentAttempt, workspace: Workspace, result: AgentResult, *, is_asking: bool = False
) -> AttemptEnded:
    host, started = attempt.host, attempt.started
    change = await capture_change(host, workspace, started, attempt.task.visit_start)
    if isinstance(change, CaptureRefused):
        fields: AttemptResult = {"text": truncate_for_log(result.text), "message": change.message}
        return attempt_ended(host, started, "failed", change.reason, result=fields, tree=started.start)
    if is_asking:
        end = _waiting_for_team(attempt, result, change.tree)
    else:
        end = await _check_work(attempt, workspace, result, change)
    diff_text = await to_thread.run_sync(_diff_text, host, started.base, change.tree)
    work = {**(end.result or {}), "files": list(change.files), "diff": truncate_for_log(diff_text)}
    likeness = await to_thread.run_sync(_likeness, attempt, f"{result.text}\n{diff_text}")
    return replace(
        end,
        result=work,
        tree=change.tree or started.start,
        change=change.change,
        digest=digest(result.text, change.tree),
        similarity_percent=likeness,
    )


async def _check_work(
    attempt: AgentAttempt, workspace: Workspace, result: AgentResult, change: CapturedChange
) -> AttemptEnded:
    """Check forbidden files first. A truncated answer may have stopped before the edit, so it is retried before it
    fails for changing nothing."""
    host, started, step = attempt.host, attempt.started, attempt.step
    if result.trouble not in (None, "malformed", "truncated"):
        return _troubled(attempt, result, result.trouble, change.tree)
    of_others = await to_thread.run_sync(changed_by_others, attempt, change)
    refusal = objection(host, step, attempt.names, change, of_others)
    if refusal is not None and refusal[0] != "no_change":
        return _refused(attempt, result, *refusal)
    if result.trouble is not None:
        return _troubled(attempt, result, result.trouble, change.tree)
    value = value_of(step.output, result.text, (result.has_value, result.value))
    if isinstance(value, OutputFault):
        return _refused(attempt, result, "contract", value.message, malformed=value.malformed)
    if refusal is not None:
        return _refused(attempt, result, *refusal)
    if step.output.kind == "text" and len(result.text) > MAX_TEXT:
        return _refused(attempt, result, "contract", f"the answer has more than {MAX_TEXT} characters")
    globs = fill_argv(step.output.files, attempt.names)
    tree = change.tree or started.start
    missing = await to_thread.run_sync(artifacts.missing_files, host, globs, tree, workspace.folder)
    if missing is not None:
        return _refused(attempt, result, "contract", missing)
    end = await _accept(attempt, result, value)
    if end.kind != "ok":
        return end
    # It may call git, which blocks.
    names = await to_thread.run_sync(protected, host, step, attempt.names, change, started.base)
    return replace(end, protected=tuple(name for name in names if name not in of_others))


def changed_by_others(attempt: AgentAttempt, change: CapturedChange) -> frozenset[str]:
    """The files that members of the team changed, under their own rules, and that this worker left as they were."""
    repository, team = attempt.host.repository, attempt.work.team
    if repository is None or team is None or not team.changes or change.tree is None:
        return frozenset()
    theirs = {path for before, after in team.changes for path in changed_paths(repository, before, after)}
    return frozenset(theirs - set(changed_paths(repository, team.changes[-1][1], change.tree)))


def _refused(
    attempt: AgentAttempt, result: AgentResult, reason: str, message: str, *, malformed: bool = False
) -> AttemptEnded:
    fields: AttemptResult = {"text": truncate_for_log(result.text), "message": message}
    return attempt_ended(
        attempt.host,
        attempt.started,
        "malformed" if malformed else "failed",
        reason,
        result=fields,
        tree=None,
    )


async def _accept(attempt: AgentAttempt, result: AgentResult, value: Value) -> AttemptEnded:
    host, step = attempt.host, attempt.step
    # A text output is the result of the step and later steps read it whole; next to a parsed answer it is only logged.
    text = result.text if step.output.kind == "text" else truncate_for_log(result.text)
    fields: AttemptResult = {"text": text, "output": value.value}
    claims = claims_in(value.value, result.text)
    if claims:
        fields["tests_changed"] = claims
    failure = _reported_failure(attempt, value.value)
    if failure is not None:
        kind, notes = failure
        reason = "blocked" if kind == "blocked" else "failed"
        return attempt_ended(
            host,
            attempt.started,
            kind,
            reason,
            result={**fields, "notes": notes, "message": notes},
            tree=None,
        )
    fields |= await _kept_files(attempt, value.value)
    return attempt_ended(host, attempt.started, "ok", result=fields, tree=None)


def _reported_failure(attempt: AgentAttempt, value: Any) -> tuple[AnswerKind, str] | None:
    """The failure that an agent itself reports in an Implementation answer."""
    if attempt.step.output.schema_name != "Implementation" or value["status"] == "done":
        return None
    notes = "; ".join(value["blockers"]) or value["summary"]
    return ("blocked" if value["status"] == "blocked" else "failed"), notes


def _diff_text(host: Host, base: Tree | None, tree: Tree | None) -> str:
    if host.repository is None or base is None or tree is None or base == tree:
        return ""
    return diff(host.repository, base, tree, limit=4 * MAX_LOGGED_BYTES).text


def _likeness(attempt: AgentAttempt, current: str) -> int | None:
    """Similarity to the step's previous attempt: answer and diff together, since an agent may say "done" each time."""
    before = attempt.work.previous
    if before is None:
        return None
    diff_text = _diff_text(attempt.host, attempt.started.base, before.tree)
    return accounting.likeness(f"{before.text}\n{diff_text}", current)


LEVELS: Final = (
    (90, "critical", "split the step, or give it less: the next answer may not fit"),
    (80, "high", "give it less: context.budget, shorter feedback, or continuity: fresh"),
    (60, "watch", "nothing yet; if it keeps growing, start a new conversation or pack less"),
    (0, "healthy", ""),
)
"""Lowest percentage, level and recommendation."""


def window_of(result: AgentResult, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """How full the context window is; None if the tokens of the last call or the size of the window are unknown."""
    size = tokens(config["context_window"]) if config.get("context_window") else result.window
    if result.context is None or not size:
        return None
    percent = round(100 * result.context / size)
    level, advice = next((level, advice) for minimum, level, advice in LEVELS if percent >= minimum)
    return {"used": result.context, "window": size, "percent": percent, "health": level, "advice": advice}
