"""Writes the workflow that a single agent gets in place of a team: the same task, gates, tools, limits and attempts, in one step.

Rule: it must not be weaker than the team in anything but the team itself. So it has the gates of every step, the keys of
the last step that writes, the attempts of all of them together, and their prompts in order. Reviews, plans, questions
and landings are left out. Nothing in the file says what it is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from podium.app.author.load import load_workflow, resolved
from podium.app.values import parse_settings
from podium.core.model import Agent, Call, Command, ForEach, Step, Workflow
from podium.core.queries.steps import all_steps
from podium.errors import ConfigurationError

STEP: Final = "work"
TRIES: Final = 50
"""The attempts of an agent that may try until its money is used."""
OWN: Final = "decide this yourself"
STEP_KEYS: Final[tuple[str, ...]] = (
    "role",
    "agent",
    "model",
    "tools",
    "touches",
    "protect",
    "context",
    "sandbox",
    "network",
    "env",
    "timeout",
    "estimate",
    "with",
)
COMMAND: Final = ("run", "junit", "must_fail_before", "exit_codes", "timeout", "coverage", "tests")
LEFT_OUT: Final = ("steps", "finally", "outputs", "triggers", "advisor", "subject", "labels")
SHOWN: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
VALUE: Final = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
LONGEST: Final = 200
"""Longer than any path of a prompt file."""
LOGIC: Final = re.compile(r"\{%(.*?)%\}", re.DOTALL)
NAMES: Final = ("steps", "vars", "feedback", "loop", "phase")
"""What prompts read that only a team has; also the names of its loops."""


class Money(NamedTuple):
    """What one agent may spend on as many attempts as that allows."""

    usd: float
    per_attempt: float
    """What is reserved for an attempt: one that could cost more than there is would not start."""


def baseline_text(
    path: Path,
    *,
    agent: str = "",
    model: str = "",
    prompt: str = "",
    money: Money | None = None,
    settings: Sequence[str] = (),
    user_dir: Path | None = None,
) -> str:
    """Raises ConfigurationError if the workflow cannot be told to one agent; then `prompt` has to be written."""
    values = parse_settings(tuple(settings))
    workflow = load_workflow(path, user_dir=user_dir, settings=values).workflow
    root: Any = yaml.safe_load(resolved(path, user_dir=user_dir, settings=values))
    writers = list(_writers(workflow, path))
    team = _names_of_the_team(workflow)
    bodies = dict(_bodies(root["steps"]))
    written = [bodies[step.name] for step in writers if step.name in bodies]
    if not written:
        raise ConfigurationError(f"{path.name} has no step that writes, so it has no baseline")
    step: dict[str, Any] = {key: written[-1][key] for key in STEP_KEYS if key in written[-1]}
    if _reads(step.get("touches"), team):
        del step["touches"]
    step |= {key: value for key, value in (("agent", agent), ("model", model)) if value}
    step["prompt"] = prompt or _prompt(path, root, written, team)
    gates = list(_gates(workflow, root, bodies, team))
    if gates:
        step["gates"] = gates
    total = sum(each.retry.attempts for each in writers if isinstance(each.retry.attempts, int))
    step["retry"] = {"attempts": TRIES if money else max(1, total), "on_exhausted": "fail"}
    if money:
        root["limits"] = {**(root.get("limits") or {}), "usd": money.usd}
        step["estimate"] = {"usd": money.per_attempt}
    shared = {key: value for key, value in root.items() if key not in LEFT_OUT}
    return yaml.safe_dump({**shared, "steps": {STEP: step}}, sort_keys=False, allow_unicode=True, width=110)


def _writers(workflow: Workflow, path: Path) -> Iterator[Step]:
    for at, step, _ in all_steps(workflow):
        if isinstance(step.verb, Call):
            raise ConfigurationError(
                f"{path.name}: {at} calls another workflow, so no baseline can be made of it",
                hint="write the baseline as a workflow of its own, and name it with workflow:",
            )
        verb = step.verb
        if isinstance(verb, Agent) and not verb.judge and not verb.by_hand and step.touches != ():
            yield step


def _bodies(steps: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each step with its name, also those in blocks and loops, in the order of the file."""
    named = steps.items() if isinstance(steps, Mapping) else ((each.get("name"), each) for each in steps)
    for name, body in named:
        if not isinstance(body, dict):
            continue
        yield str(name), body
        for value in (body, *body.values()):
            inner = value.get("steps") if isinstance(value, Mapping) else None
            if inner:
                yield from _bodies(inner)


def _names_of_the_team(workflow: Workflow) -> re.Pattern[str]:
    loops = {step.verb.name for _, step, _ in all_steps(workflow) if isinstance(step.verb, ForEach)}
    return re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, (*NAMES, *sorted(loops))))})\b")


def _gates(
    workflow: Workflow, root: Mapping[str, Any], bodies: Mapping[str, Any], team: re.Pattern[str]
) -> Iterator[Any]:
    """The commands and checks of all steps, each once; a step that is a command counts as a gate."""
    kinds = {step.name: step.verb for at, step, _ in all_steps(workflow) if "#" not in at}
    named: Mapping[str, Any] = root.get("gates") or {}
    seen: list[Any] = []
    for name, body in bodies.items():
        own = body.get("gates") or []
        if isinstance(kinds.get(name), Command) and "run" in body:
            own = [{key: body[key] for key in COMMAND if key in body}]
        for gate in own:
            definition = named.get(gate) if isinstance(gate, str) else gate
            if not isinstance(definition, Mapping) or not {"run", "check"} & definition.keys():
                continue
            if gate not in seen and not _reads(definition, team):
                seen.append(gate)
                yield gate


def _prompt(
    path: Path, root: Mapping[str, Any], written: Sequence[Mapping[str, Any]], team: re.Pattern[str]
) -> str:
    inputs = [f"{name}: {{{{ inputs.{name} }}}}" for name in root.get("inputs") or {}]
    texts = [_own_words(path, str(body["prompt"]), team) for body in written if body.get("prompt")]
    named = [each for each in inputs if not any(each.split(": ", 1)[1] in text for text in texts)]
    parts = ["\n".join(named), *dict.fromkeys(texts)]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _own_words(path: Path, prompt: str, team: re.Pattern[str]) -> str:
    """The prompt of a step without what other steps have found out."""
    file = path.parent / prompt
    text = (
        file.read_text("utf-8") if "\n" not in prompt and len(prompt) < LONGEST and file.is_file() else prompt
    )
    for logic in LOGIC.findall(text):
        if team.search(logic):
            raise ConfigurationError(
                f"{path.name}: a prompt decides by other steps: {{%{logic}%}}",
                hint="write what the single agent is told into the arm, as prompt:",
            )
    return SHOWN.sub(lambda match: f"({OWN})" if team.search(match[1]) else match[0], text)


def _reads(value: Any, team: re.Pattern[str]) -> bool:
    match value:
        case str():
            return any(team.search(each) for each in VALUE.findall(value))
        case Mapping():
            return any(_reads(each, team) for each in value.values())
        case list():
            return any(_reads(each, team) for each in value)
        case _:
            return False
