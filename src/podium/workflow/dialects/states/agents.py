"""Agents of the states format: which program each one is, how it is called, and how its output is read."""

from __future__ import annotations

import shlex
from typing import Any, Final

from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.source.nodes import Node, fields, items, text

PROGRAMS: Final = {
    "claude": ("-p", "--print", "--output-format", "json", "{prompt}"),
    "gemini": ("-p", "--format", "--output-format", "json", "{prompt}"),
    "codex": ("exec", "--json", "{prompt}"),
}
"""Programs with an agent of their own, and the words of a command line that this agent uses anyway."""

MODEL: Final = ("-m", "--model")
RESUME: Final = ("--resume", "resume", "{session_id}")
"""The words of a command line that continues a conversation."""
TOKENS: Final = {
    "claude": ("usage.input_tokens", "usage.output_tokens"),
    "gemini": ("usageMetadata.promptTokenCount", "usageMetadata.candidatesTokenCount"),
    "codex": ("usage.prompt_tokens", "usage.completion_tokens"),
    "ollama": ("prompt_eval_count", "eval_count"),
}
"""Where the document of the format finds the tokens in the output of each program."""
RESULT: Final = "result"
"""Where the answer is in the JSON that a program prints, unless `result_field` names another place."""
FIELDS: Final = {
    "result_field": "text",
    "input_field": "input",
    "output_field": "output",
    "cost_field": "cost_usd",
    "session_field": "session",
}


def native_agents(node: Node | None, translation: Translation) -> dict[str, Any]:
    """An agent with a persona is a role; only if it calls a program of its own is it an agent, too."""
    return {
        agent_name(name, agent): _agent(name, agent, translation)
        for name, agent in fields(node).items()
        if "persona" not in fields(agent) or is_own_program(agent)
    }


def agent_name(name: str, agent: Node) -> str:
    """A role and an agent cannot have one name, so the program of a persona gets another."""
    return f"{name_of(name)}_program" if "persona" in fields(agent) else name_of(name)


def is_own_program(agent: Node) -> bool:
    entries = fields(agent)
    return "command" in entries and program_of(agent) is None and text(entries.get("type")) != "ollama"


def program_of(agent: Node) -> str | None:
    """One of the programs with an agent of their own, if the command calls it."""
    words = (text(fields(agent).get("command")) or "").split()
    return words[0] if words and words[0] in PROGRAMS else None


def _agent(name: str, agent: Node, translation: Translation) -> Node:
    entries = fields(agent)
    common = {
        "enabled": entries.get("enabled"),
        "context_window": entries.get("context_window"),
        "price": _price(entries.get("cost_per_1k")),
        "tiers": _tiers(entries.get("model_tiers")),
    }
    if text(entries.get("type")) == "ollama":
        _warn_about_program(agent, name, "ollama", translation)
        for key in ("command", "resume_command"):
            if key in entries:
                message = (
                    f'"{key}" of agent "{name}" has no effect: type ollama calls its server, not a program'
                )
                translation.add_warning(entries[key], message, "write type: cli to call a program")
        return new_node({"type": "ollama", **common}, agent)
    program = program_of(agent)
    if program is not None:
        _warn_about_program(agent, name, program, translation)
        model = _model(name, entries["command"], program, translation)
        _check_resume(name, entries.get("resume_command"), program, translation)
        return new_node({"type": program, "model": model, **common}, agent)
    _warn_about_price(name, agent, translation)
    return new_node({"type": "command", **_own_program(agent), **common}, agent)


def _warn_about_price(name: str, agent: Node, translation: Translation) -> None:
    """A price counts only with the tokens that the program reports."""
    entries = fields(agent)
    price = entries.get("cost_per_1k")
    if price is None or "token_tracking" in entries or not any(cost.value for cost in fields(price).values()):
        return
    message = f'"cost_per_1k" of agent "{name}" has no effect: without token_tracking its tokens are unknown'
    translation.add_warning(price, message, "add token_tracking: {input_field: ..., output_field: ...}")


def _own_program(agent: Node) -> dict[str, Any]:
    entries = fields(agent)
    command, resume = _argv(entries.get("command")), _argv(entries.get("resume_command"))
    words = [str(word.value) for word in (*items(command), *items(resume))]
    return {
        "command": command,
        "resume": resume,
        "prompt_argument": True if any("{prompt}" in word for word in words) else None,
        "fields": _fields(entries.get("token_tracking")),
        # Whatever the code, the agent has failed and may be tried again.
        "exit_codes": {"2": "failed", "*": "failed"},
    }


def _argv(command: Node | None) -> Node | None:
    """The words of a command; what cannot be split is left for the reader to report."""
    if command is None or not isinstance(command.value, str):
        return command
    try:
        words = shlex.split(command.value)
    except ValueError:
        return command
    return new_node([word.replace("{session_id}", "{session}") for word in words], command)


def _fields(tracking: Node | None) -> dict[str, Any] | None:
    entries = fields(tracking)
    if tracking is None:
        return None
    paths = {native: entries[key] for key, native in FIELDS.items() if key in entries}
    return {"text": new_node(RESULT, tracking), **paths}


def _model(name: str, command: Node, program: str, translation: Translation) -> Node | None:
    """The model that the command line names; any other word that the agent does not use itself has no effect."""
    model = None
    words = iter(str(command.value).split()[1:])
    for word in words:
        option, sign, value = word.partition("=")
        if option in MODEL:
            model = new_node(value if sign else next(words, ""), command)
        elif word not in PROGRAMS[program]:
            _warn_about_word(word, f'the command of agent "{name}"', command, program, translation)
    return model


def _check_resume(name: str, command: Node | None, program: str, translation: Translation) -> None:
    """Reports what the agent would not do itself when it continues a conversation."""
    words = [] if command is None else str(command.value).split()
    for index, word in enumerate(words):
        is_usual = word == program if index == 0 else word in (*PROGRAMS[program], *RESUME)
        if command is not None and not is_usual:
            place = f'the resume_command of agent "{name}"'
            _warn_about_word(word, place, command, program, translation)


def _warn_about_word(word: str, place: str, node: Node, program: str, translation: Translation) -> None:
    message = f'"{word}" in {place} has no effect: Podium calls {program} itself'
    translation.add_warning(node, message, "set it in a configuration: agents: {NAME: {args: [...]}}")


def _warn_about_program(agent: Node, name: str, program: str, translation: Translation) -> None:
    """The usual paths of tokens lose nothing, since an agent of its own reads them; others may name another place."""
    tracking = fields(fields(agent).get("token_tracking"))
    usual = dict(zip(("input_field", "output_field"), TOKENS[program], strict=True))
    for key in FIELDS:
        if key in tracking and tracking[key].value != usual.get(key):
            message = f'"{key}" of agent "{name}" has no effect: the agent type {program} reads it itself'
            translation.add_warning(tracking[key], message)


def _price(node: Node | None) -> Any:
    """Prices per million tokens; the states format gives them per thousand."""
    if node is None:
        return None
    return {key: new_node(_per_million(value.value), value) for key, value in fields(node).items()}


def _per_million(value: object) -> Any:
    if not isinstance(value, int | float):
        return value
    price = round(value * 1000, 6)
    return int(price) if price == int(price) else price


def _tiers(node: Node | None) -> Any:
    tiers = {}
    for name, tier in fields(node).items():
        entries = fields(tier)
        tiers[name_of(name)] = new_node(
            {
                "vram": entries.get("vram_range"),
                **fields(entries.get("recommended")),
                "fallback": entries.get("fallback"),
                "context": entries.get("max_context_tokens"),
            },
            tier,
        )
    return tiers or None
