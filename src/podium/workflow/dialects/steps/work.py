"""Steps of the steps format that do work: a command, or an agent, which the format calls a provider."""

from __future__ import annotations

from typing import Any, Final

from podium.workflow.dialects.steps import keys
from podium.workflow.dialects.steps.scope import FOLDER, Scope
from podium.workflow.dialects.steps.shims import BUILT_IN, Shim
from podium.workflow.dialects.steps.text import as_prompt, as_value, split_references
from podium.workflow.dialects.translation import Translation, new_node, seconds
from podium.workflow.source.files import is_prompt_file
from podium.workflow.source.nodes import Node, fields, items, text

RETRYABLE: Final = (1, 124)
PAUSE: Final = "2s"
TIMEOUT: Final = "5m"


def command(step: Node, scope: Scope, translation: Translation, *, secrets: Node | None) -> dict[str, Any]:
    entries = fields(step)
    argv = entries["command"]
    if not isinstance(argv.value, tuple):
        translation.add_problem(argv, 2, "a command must be a list of words", 'write ["echo", "hello"]')
    words = [_word(word, scope, translation) for word in items(argv)]
    attempts = _attempts(step, translation)
    return {
        "run": new_node(words, argv),
        "stdin": _stdin(step, scope, translation),
        "dir": FOLDER,
        "secrets": secrets,
        "output": _output(step, scope, translation),
        "timeout": seconds(entries.get("timeout")),
        "retry": attempts and {"attempts": attempts, "backoff": PAUSE},
        "exit_codes": list(RETRYABLE) if attempts else None,
    }


def provider(step: Node, scope: Scope, translation: Translation, *, secrets: Node | None) -> dict[str, Any]:
    entries = fields(step)
    agent = entries["provider"]
    attempts = _attempts(step, translation)
    retry = {"attempts": attempts or 1, "transient": attempts or 0, "backoff": PAUSE, "on_exhausted": "fail"}
    shim = scope.shims.get(Shim.of(step))
    if "max_tokens" in entries and agent.value in BUILT_IN:
        message = f'"max_tokens" has no effect: {agent.value} decides how long its answers are'
        translation.add_warning(entries["max_tokens"], message)
    return {
        "agent": new_node(BUILT_IN.get(str(agent.value), shim), agent),
        "model": _word(entries["model"], scope, translation) if "model" in entries else None,
        "context": [_input(file, scope, translation) for file in _context_files(step, scope, translation)]
        or None,
        "prompt": _prompt(step, scope, translation),
        "dir": FOLDER,
        "secrets": secrets,
        "output": _output(step, scope, translation),
        "timeout": seconds(entries.get("timeout")) or TIMEOUT,
        "retry": retry,
    }


def _word(node: Node, scope: Scope, translation: Translation) -> Node:
    text_value = node.value if isinstance(node.value, str) else node.source
    if text_value is None:
        return node
    return new_node(as_value(split_references(text_value), scope.meaning(node, translation)), node)


def _attempts(step: Node, translation: Translation) -> Any:
    retry = fields(step).get("retry")
    if retry is None:
        return None
    translation.check_part(retry, "retry", keys.RETRY)
    return fields(retry).get("attempts")


def _output(step: Node, scope: Scope, translation: Translation) -> dict[str, Any] | None:
    file = fields(step).get("output_file")
    return None if file is None else {"file": _word(file, scope, translation)}


def _stdin(step: Node, scope: Scope, translation: Translation) -> Any:
    """The input: files, or the output of earlier steps whose output files are named."""
    files = _files(step)
    if not files:
        return None
    makers = [scope.names[maker] for file in files if (maker := scope.maker_of(str(file.value))) is not None]
    if not makers:
        paths = [_input(file, scope, translation) for file in files]
        return paths if len(paths) > 1 else paths[0]
    if len(makers) < len(files):
        message = "input_files mixes files of the project with output files of steps"
        translation.add_problem(files[0], 5, message, "let one step print them all")
    outputs = [f"steps.{name}.output" for name in makers]
    one = outputs[0] if len(outputs) == 1 else f"join([{', '.join(outputs)}], '\\n')"
    return new_node(f"${{{{ {one} }}}}", files[0])


def _files(step: Node) -> list[Node]:
    entries = fields(step)
    return [file for key in ("input_file", "input_files") for file in items(entries.get(key))]


def _context_files(step: Node, scope: Scope, translation: Translation) -> list[Node]:
    """The files that a provider gets besides its prompt; the first file is the prompt unless the step has one."""
    has_prompt = bool({"prompt", "prompt_file"} & set(fields(step)))
    files = _files(step)[0 if has_prompt else 1 :]
    for file in files:
        if scope.maker_of(str(file.value)) is not None:
            message = "a provider can get the output file of a step only as its prompt"
            translation.add_problem(file, 5, message, "write ${steps.NAME.output} in its prompt")
    return files


def _input(file: Node, scope: Scope, translation: Translation) -> Node:
    parts = split_references(str(file.value))
    if all(isinstance(part, str) for part in parts):
        return new_node(scope.path(file), file)
    return new_node(f"{FOLDER}/{as_value(parts, scope.meaning(file, translation))}", file)


def _prompt(step: Node, scope: Scope, translation: Translation) -> Any:
    entries = fields(step)
    if {"prompt", "prompt_file"} <= set(entries):
        message = 'a provider cannot have both "prompt" and "prompt_file"'
        translation.add_problem(entries["prompt_file"], 5, message, "remove one of the two")
    if "prompt" in entries:
        words = entries["prompt"]
        return new_node(
            as_prompt(split_references(str(words.value)), scope.meaning(words, translation)), words
        )
    file = entries.get("prompt_file", next(iter(_files(step)), None))
    if text(file) is None or file is None:
        translation.add_problem(
            step, 20, "this provider has no prompt", "name its file with input_file or prompt_file"
        )
        return "Go on."
    maker = scope.maker_of(str(file.value))
    if maker is not None:
        return new_node(f"{{{{ steps.{scope.names[maker]}.text }}}}", file)
    path = scope.path(file)
    return new_node(path if is_prompt_file(path) else f"Do what the file {path} says.", file)
