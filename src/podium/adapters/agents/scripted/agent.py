"""An agent that answers from a script: a YAML file of rules, of which the first match applies.

The rules are read in `workflow/scripted/cast.py`.

    agents: {writer: {type: scripted, script: cast.yaml}}

A request that no rule matches succeeds. A real process (player.py) plays the answer, so that workspaces, sandboxes,
limits and kills work as with any other agent.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from podium.adapters.agents.shared.json_lines import JsonLines, message_report
from podium.core.types import MicroUsd
from podium.errors import ConfigurationError
from podium.files.inside import inside
from podium.files.path_rules import path_fault
from podium.ports.agent import AgentRequest, AgentResult, AgentTrouble, ProgramSpec, Progress, Usage
from podium.process.launch import Finished
from podium.workflow.contracts.examples import example
from podium.workflow.schema.fields import DocPath
from podium.workflow.scripted.cast import (
    Cast,
    Rule,
    is_named,
    iteration_of,
    judged_attempt,
    line_of,
    names_list_of,
    read_cast,
)

PLAYER: Final = Path(__file__).with_name("player.py")
DEFAULT_RULE: Final = Rule({})
DEFAULT_SCORE: Final = {"approve": 9, "reject": 4, "abort": 1}
TROUBLES: Final[Mapping[str, AgentTrouble]] = {
    "quota": "quota",
    "overloaded": "transient",
    "auth": "auth",
    "refused": "refused",
    "blocked": "blocked",
    "failed": "failed",
}


class Scripted:
    """Reads the script again for every request, because it may be edited while a run waits.

    With a `cast` it plays that one for all agents; `played` are the rules that were used.
    """

    def __init__(self, cast: Cast | None = None, source: Path | None = None) -> None:
        self._cast = cast
        self._source = source or Path()
        self.played: set[DocPath] = set()

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, ScriptedConversation]:
        script, rules = (self._source, self._cast.rules) if self._cast is not None else _script(request)
        rule = next((rule for rule in rules if _matches(rule, request, script)), DEFAULT_RULE)
        _check_paths(rule, script)
        self.played.add(rule.path)
        task = json.dumps(_task(rule, request)).encode("ascii")
        argv = (sys.executable, "-I", "-S", str(PLAYER))
        return ProgramSpec(argv=argv, stdin=task, reads=(PLAYER,)), ScriptedConversation()


class ScriptedConversation:
    def __init__(self) -> None:
        self._lines = JsonLines()
        self._last: Mapping[str, Any] | None = None

    def feed(self, data: bytes) -> Iterable[Progress]:
        return [progress for record in self._lines.feed(data) if (progress := self._read(record)) is not None]

    def _read(self, record: Mapping[str, Any]) -> Progress | None:
        if record.get("type") == "file":
            return Progress("file", str(record.get("path")))
        self._last = record
        return message_report(str(record.get("text", ""))) if record.get("type") == "answer" else None

    def finish(self, finished: Finished) -> AgentResult:
        return replace(self._parse(finished), cost=_cost(self._last or {}), simulated=True)

    def _parse(self, finished: Finished) -> AgentResult:
        if finished.not_started is not None:
            return AgentResult(trouble="unavailable", detail=finished.not_started)
        if finished.timed_out:
            return AgentResult(trouble="timeout", detail="its time ran out")
        if finished.signal is not None:
            return AgentResult(trouble="transient", detail=f"it was ended by signal {finished.signal}")
        last: Mapping[str, Any] = self._last or {}
        match last:
            case {"type": "error", "error": str(word), "text": str(detail)} if word in TROUBLES:
                return AgentResult(trouble=TROUBLES[word], detail=detail, usage=_usage(last))
            case {"type": "answer", "text": str(text)} if finished.exit_code == 0:
                value, has_value = last.get("value"), "value" in last
                return AgentResult(text=text, value=value, has_value=has_value, usage=_usage(last))
            case _ if finished.exit_code:
                stderr = finished.stderr.record().strip()
                detail = f"the player ended with exit code {finished.exit_code}"
                return AgentResult(trouble="error", detail=f"{detail}: {stderr}" if stderr else detail)
            case _:
                return AgentResult(
                    trouble="malformed", detail="the answer breaks off", text=self._lines.rest()
                )


def _usage(record: Mapping[str, Any]) -> Usage:
    usage = record.get("usage") or {}
    return Usage(input=int(usage.get("input", 0)), output=int(usage.get("output", 0)))


def _cost(record: Mapping[str, Any]) -> MicroUsd:
    """The cost in the script; 0 if it names none."""
    return MicroUsd(round(float(record.get("cost_usd") or 0) * 1_000_000))


def _script(request: AgentRequest) -> tuple[Path, tuple[Rule, ...]]:
    script = request.config.get("script")
    if script is None:
        return Path(), ()
    path = _file(request, str(script))
    return path, _rules(path, str(script))


def _rules(path: Path, script: str) -> tuple[Rule, ...]:
    try:
        return read_cast(path).rules
    except ConfigurationError as error:
        # Messages name the script as in the settings, not by its full path.
        raise ConfigurationError(error.message.replace(str(path), script)) from error


def _file(request: AgentRequest, script: str) -> Path:
    path = inside(request.project, script)
    if not path.is_file():
        raise ConfigurationError(
            f'agents.{request.agent}.script names "{script}", which is not a file in the project',
            hint="name the cast by its path from the project's folder",
        )
    return path


def _matches(rule: Rule, request: AgentRequest, path: Path) -> bool:
    match = rule.match
    visit, attempt = judged_attempt(request.path) or (request.visit, request.attempt)
    return (
        (
            match.step in (None, request.step)
            or is_named(match.step, request.path)
            or names_list_of(match.step, request.path, request.agent, request.role)
        )
        and match.visit in (None, visit)
        and match.attempt in (None, attempt)
        and match.iteration in (None, iteration_of(request.path))
        and (match.prompt is None or _matches_prompt(match.prompt, request.prompt, rule, path))
    )


def _matches_prompt(pattern: str, prompt: str, rule: Rule, path: Path) -> bool:
    try:
        return re.search(pattern, prompt) is not None
    except re.error as error:
        where = f"{path.name}:{line_of(path, rule)}"
        raise ConfigurationError(f'{where}: prompt "{pattern}" is not a pattern: {error}') from error


def _check_paths(rule: Rule, path: Path) -> None:
    for name in (*rule.write, *rule.delete, *rule.remember):
        if fault := path_fault(name):
            raise ConfigurationError(f'{path.name}:{line_of(path, rule)}: path "{name}" {fault}')


def _task(rule: Rule, request: AgentRequest) -> dict[str, Any]:
    """The task for the player."""
    error: str | None = rule.error
    text = _text(rule, request)
    if error is None and rule.blocked is not None:
        error, text = "blocked", rule.blocked
    elif error is None and rule.exit:
        error = "failed"
    return {
        # Paths of a cast are those of the tree, as in the simulator, whatever the `dir` of the step.
        "root": str(request.root or request.cwd),
        "delay_s": (rule.delay or 0) / 1000,
        "write": dict(rule.write) or ({} if rule.delete or rule.ask or error else _default_files(request)),
        "delete": list(rule.delete),
        "remember": {str(_memory_of(request) / name): text for name, text in rule.remember.items()},
        "error": error,
        "exit": rule.exit or 0,
        "answer": _answer(rule, request, text),
    }


def _memory_of(request: AgentRequest) -> Path:
    if request.memory is None:
        raise ConfigurationError(
            f'a rule of the cast uses "remember", and step "{request.step}" has no memory',
            hint="add memory: NAME to the step",
        )
    return request.memory


def _default_files(request: AgentRequest) -> dict[str, str]:
    """Files for a worker that must change something, if no rule names any."""
    names = (glob.replace("**", "changed").replace("*", "changed") for glob in request.must_touch)
    return dict.fromkeys(names, f"{request.path} {request.attempt}\n")


def _text(rule: Rule, request: AgentRequest) -> str:
    if rule.ask or rule.note:
        return _team_text(rule, request)
    if rule.text is not None:
        return rule.text
    if not rule.has("output"):
        return _ending(rule) or f"{request.path} is done"
    if isinstance(rule.output, list) and all(isinstance(line, str) for line in rule.output):
        return "\n".join(rule.output)
    return rule.output if isinstance(rule.output, str) else json.dumps(rule.output, ensure_ascii=False)


def _team_text(rule: Rule, request: AgentRequest) -> str:
    """What a worker tells its team, in the form for agents that answer in text."""
    asks = [{"to": ask.to, "question": ask.question, "files": list(ask.files)} for ask in rule.ask]
    notes = [{"text": note.text, "to": note.to} for note in rule.note]
    answer = (
        {}
        if asks
        else {"answer": rule.output if rule.has("output") else rule.text or f"{request.path} is done"}
    )
    words = {"ask": asks, "note": notes, "so_far": rule.so_far}
    return json.dumps({**{key: value for key, value in words.items() if value}, **answer}, ensure_ascii=False)


def _ending(rule: Rule) -> str:
    """The text of a rule that fails, so that it is not reported as done; "" otherwise."""
    if rule.error is not None:
        return f"the cast says: {rule.error}"
    return f"the cast says: exit code {rule.exit}" if rule.exit else ""


def _answer(rule: Rule, request: AgentRequest, text: str) -> dict[str, Any]:
    usage = None if rule.usage is None else {"input": rule.usage.input, "output": rule.usage.output}
    answer: dict[str, Any] = {"text": text, "usage": usage, "cost_usd": rule.cost_usd}
    if request.judge and not rule.has("output"):
        # If a phrase approves, there is no schema of a verdict, and the text of the rule is the whole answer.
        if request.schema is not None or rule.verdict is not None or rule.text is None:
            answer["value"] = _verdict(rule, request)
    elif rule.ask or rule.note:
        pass  # The text is the whole answer.
    elif rule.has("output"):
        answer["value"] = rule.output
    elif request.schema is not None:
        answer["value"] = _default_value(request.schema, text)
    return answer


def _default_value(schema: Mapping[str, Any], text: str) -> Any:
    if schema.get("title") == "Decision":
        # Without a rule, an advisor halts the run that the breaker has stopped.
        return {"action": "halt", "reason": text}
    return example(schema, text)


def _verdict(rule: Rule, request: AgentRequest) -> dict[str, Any]:
    """A verdict with the nonce and tree of the request, as a real reviewer must give it."""
    spec = rule.verdict
    decision = "approve" if spec is None else spec.decision
    findings = [] if spec is None else [dict(finding) for finding in spec.findings]
    if decision == "reject" and not findings:
        findings = [{"severity": "major", "issue": rule.text or "not good enough"}]
    return {
        "decision": decision,
        "score": DEFAULT_SCORE[decision] if spec is None or spec.score is None else spec.score,
        "findings": findings,
        "summary": (spec.summary if spec is not None else "") or rule.text or "",
        "nonce": request.nonce,
        "tree": request.tree,
        # A script does not know the ids of disputed tests, so it accepts none.
        **({"accepted_tests": []} if "accepted_tests" in (request.schema or {}).get("required", ()) else {}),
    }
