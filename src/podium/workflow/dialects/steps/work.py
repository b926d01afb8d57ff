"""Steps of the steps format that do work: a command, or an agent, which the format calls a provider."""

from __future__ import annotations

from typing import Any, Final

from podium.workflow.dialects.steps import keys
from podium.workflow.dialects.steps.places import step_name
from podium.workflow.dialects.steps.scope import FOLDER, Scope, below_folder
from podium.workflow.dialects.steps.text import as_expression, as_value, split_references
from podium.workflow.dialects.translation import Translation, new_node, seconds
from podium.workflow.source.nodes import Node, fields, items, text

BUILT_IN: Final = {
    "claude": "claude",
    "gemini": "gemini",
    "codex": "codex",
    "openai": "codex",
    "ollama": "ollama",
}
SHIM_OPTIONS: Final = {"model": "--model", "max_tokens": "--max-tokens"}
RETRYABLE: Final = (1, 124)
PAUSE: Final = "2s"
TIMEOUT: Final = "5m"


def command(step: Node, scope: Scope, translation: Translation, *, secrets: Node | None) -> dict[str, Any]:
    argv = fields(step)["command"]
    if not isinstance(argv.value, tuple):
        translation.add_problem(argv, 2, "a command must be a list of words", 'write ["echo", "hello"]')
    words = [_word(word, scope, translation) for word in items(argv)]
    return {
        "run": new_node(words, argv),
        "stdin": _stdin(_files(step), scope, translation),
        **_process(step, scope, translation, secrets=secrets),
    }


def provider(step: Node, scope: Scope, translation: Translation, *, secrets: Node | None) -> dict[str, Any]:
    stdin = _prompt(step, scope, translation)
    if is_shim(step):
        words = [
            word if isinstance(word, str) else _word(word, scope, translation) for word in _shim_words(step)
        ]
        run = new_node(words, fields(step)["provider"])
        return {"run": run, "stdin": stdin, **_process(step, scope, translation, secrets=secrets)}
    return {**_agent(step, scope, translation), "stdin": stdin, **_place(step, scope, translation, secrets)}


def is_shim(step: Node) -> bool:
    """Whether its provider has no built-in agent: then it is a program, called like a command with the prompt on stdin."""
    provider = text(fields(step).get("provider"))
    return bool(provider) and provider not in BUILT_IN


def is_process(step: Node) -> bool:
    """Whether it has an exit code of its own."""
    return "command" in fields(step) or is_shim(step)


def _shim_words(step: Node) -> list[str | Node]:
    """The command that calls the shim of a step; nodes are values of the file."""
    entries = fields(step)
    options = [(option, entries[key]) for key, option in SHIM_OPTIONS.items() if key in entries]
    return [f"{text(entries['provider'])}-shim", *(word for pair in options for word in pair)]


def _agent(step: Node, scope: Scope, translation: Translation) -> dict[str, Any]:
    entries = fields(step)
    agent = entries["provider"]
    attempts = _attempts(step, translation)
    count = attempts.value if attempts is not None and isinstance(attempts.value, int) else 1
    if "max_tokens" in entries:
        message = f'"max_tokens" has no effect: {agent.value} decides how long its answers are'
        translation.add_warning(entries["max_tokens"], message)
    return {
        "agent": new_node(BUILT_IN.get(str(agent.value), str(agent.value)), agent),
        "model": _word(entries["model"], scope, translation) if "model" in entries else None,
        "timeout": _timeout(step, translation) or TIMEOUT,
        "retry": {
            "attempts": attempts or 1,
            "transient": max(count - 1, 0),
            "backoff": PAUSE,
            "on_exhausted": "fail",
        },
    }


def _process(step: Node, scope: Scope, translation: Translation, *, secrets: Node | None) -> dict[str, Any]:
    """What commands and shims have in common."""
    attempts = _attempts(step, translation)
    return {
        **_place(step, scope, translation, secrets),
        "timeout": _timeout(step, translation),
        "retry": attempts and {"attempts": attempts, "backoff": PAUSE},
        "exit_codes": list(RETRYABLE) if attempts or "timeout" in fields(fields(step).get("on")) else None,
    }


def _place(step: Node, scope: Scope, translation: Translation, secrets: Node | None) -> dict[str, Any]:
    return {"dir": FOLDER, "secrets": secrets, "output": _output(step, scope, translation)}


def _word(node: Node, scope: Scope, translation: Translation) -> Node:
    text_value = node.value if isinstance(node.value, str) else node.source
    if text_value is None:
        return node
    return new_node(as_value(split_references(text_value), scope.meaning(node, translation)), node)


def _timeout(step: Node, translation: Translation) -> Any:
    node = fields(step).get("timeout")
    return (
        seconds(node) if _is_count(node, f'timeout of "{step_name(step)}"', "seconds", translation) else None
    )


def _attempts(step: Node, translation: Translation) -> Node | None:
    retry = fields(step).get("retry")
    if retry is None:
        return None
    translation.check_part(retry, "retry", keys.RETRY)
    attempts = fields(retry).get("attempts")
    what = f'retry.attempts of "{step_name(step)}"'
    return attempts if _is_count(attempts, what, "attempts", translation) else None


def _is_count(node: Node | None, what: str, unit: str, translation: Translation) -> bool:
    if node is None:
        return False
    is_count = type(node.value) is int and node.value > 0
    if not is_count:
        translation.add_problem(node, 2, f"{what} must be a whole number of {unit}, at least 1")
    return is_count


def _output(step: Node, scope: Scope, translation: Translation) -> dict[str, Any] | None:
    """The file is kept with the run, and written where the format has the artifacts of all runs."""
    file = fields(step).get("output_file")
    if file is None:
        return None
    name = _word(file, scope, translation)
    folder = f"{FOLDER}/artifacts/{text(fields(step).get('name'))}"
    return {"file": name, "folder": new_node(folder, file)}


def _stdin(files: list[Node], scope: Scope, translation: Translation) -> Any:
    paths = [_input(file, scope, translation) for file in files]
    return None if not paths else paths if len(paths) > 1 else paths[0]


def _files(step: Node) -> list[Node]:
    entries = fields(step)
    return [file for key in ("input_file", "input_files") for file in items(entries.get(key))]


def _input(file: Node, scope: Scope, translation: Translation) -> Node:
    parts = split_references(str(file.value))
    if all(isinstance(part, str) for part in parts):
        return new_node(scope.path(file), file)
    path = as_value(split_references(below_folder(str(file.value))), scope.meaning(file, translation))
    return new_node(f"{FOLDER}/{path}", file)


def _prompt(step: Node, scope: Scope, translation: Translation) -> Any:
    """All that a provider gets: its files one after the other, or the text of `prompt`."""
    entries = fields(step)
    inline, files = entries.get("prompt"), [*items(entries.get("prompt_file")), *_files(step)]
    if inline is not None:
        for file in files[:1]:
            message = 'a provider cannot have both "prompt" and a file'
            translation.add_problem(file, 5, message, "remove one of the two")
        words = as_expression(split_references(str(inline.value)), scope.meaning(inline, translation))
        return new_node(f"${{{{ {words} }}}}", inline)
    if not files or not all(map(text, files)):
        translation.add_problem(
            step, 20, "this provider has no prompt", "name its file with input_file or prompt_file"
        )
    return _stdin(files, scope, translation)
