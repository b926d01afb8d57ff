"""Steps of the steps format that do something: a command, or an agent that is called a provider there."""

from __future__ import annotations

from typing import Any, Final

from podium.workflow.dialects.steps.scope import FOLDER, Scope
from podium.workflow.dialects.steps.shims import KNOWN, Shim
from podium.workflow.dialects.steps.text import as_prompt, as_value, parts_of
from podium.workflow.dialects.translation import Translation, new_node, seconds
from podium.workflow.source.files import is_prompt_file
from podium.workflow.source.nodes import Node, fields, items, text

RETRYABLE: Final = (1, 124)
PAUSE: Final = "2s"
TIMEOUT: Final = "5m"


def command(step: Node, scope: Scope, page: Translation, *, secrets: Node | None) -> dict[str, Any]:
    said = fields(step)
    argv = said["command"]
    if not isinstance(argv.value, tuple):
        page.complain(argv, 2, "a command is a list of words", 'write ["echo", "hello"]')
    words = [_word(word, scope, page) for word in items(argv)]
    attempts = _attempts(step, page)
    return {
        "run": new_node(words, argv),
        "stdin": _stdin(step, scope, page),
        "dir": FOLDER,
        "secrets": secrets,
        "output": _output(step, scope, page),
        "timeout": seconds(said.get("timeout")),
        "retry": attempts and {"attempts": attempts, "backoff": PAUSE},
        "exit_codes": list(RETRYABLE) if attempts else None,
    }


def provider(step: Node, scope: Scope, page: Translation, *, secrets: Node | None) -> dict[str, Any]:
    said = fields(step)
    who = said["provider"]
    attempts = _attempts(step, page)
    retry = {"attempts": attempts or 1, "transient": attempts or 0, "backoff": PAUSE, "on_exhausted": "fail"}
    shim = scope.shims.get(Shim.of(step))
    return {
        "agent": new_node(KNOWN.get(str(who.value), shim), who),
        "model": _word(said["model"], scope, page) if "model" in said else None,
        "context": [_input(file, scope, page) for file in _beside(step, scope, page)] or None,
        "prompt": _prompt(step, scope, page),
        "dir": FOLDER,
        "secrets": secrets,
        "output": _output(step, scope, page),
        "timeout": seconds(said.get("timeout")) or TIMEOUT,
        "retry": retry,
    }


def _word(node: Node, scope: Scope, page: Translation) -> Node:
    written = node.value if isinstance(node.value, str) else node.source
    if written is None:
        return node
    return new_node(as_value(parts_of(written), scope.meaning(node, page)), node)


def _attempts(step: Node, page: Translation) -> Any:
    retry = fields(step).get("retry")
    if retry is None:
        return None
    page.check_keys(retry, "retry", ("attempts",))
    return fields(retry).get("attempts")


def _output(step: Node, scope: Scope, page: Translation) -> dict[str, Any] | None:
    file = fields(step).get("output_file")
    return None if file is None else {"file": _word(file, scope, page)}


def _stdin(step: Node, scope: Scope, page: Translation) -> Any:
    """Files, or what earlier steps have printed: their output files are the same texts."""
    files = _files(step)
    if not files:
        return None
    made = [scope.names[maker] for file in files if (maker := scope.maker_of(str(file.value))) is not None]
    if not made:
        paths = [_input(file, scope, page) for file in files]
        return paths if len(paths) > 1 else paths[0]
    if len(made) < len(files):
        fault = "files of the project and output files of steps are not read together"
        page.complain(files[0], 5, fault, "let a step print them all")
    outputs = [f"steps.{name}.output" for name in made]
    one = outputs[0] if len(outputs) == 1 else f"join([{', '.join(outputs)}], '\\n')"
    return new_node(f"${{{{ {one} }}}}", files[0])


def _files(step: Node) -> list[Node]:
    said = fields(step)
    return [file for key in ("input_file", "input_files") for file in items(said.get(key))]


def _beside(step: Node, scope: Scope, page: Translation) -> list[Node]:
    """What a provider is given besides its prompt, which is the first of its files unless it is told otherwise."""
    has_prompt = bool({"prompt", "prompt_file"} & set(fields(step)))
    files = _files(step)[0 if has_prompt else 1 :]
    for file in files:
        if scope.maker_of(str(file.value)) is not None:
            fault = "a provider cannot be given the output file of a step besides its prompt"
            page.complain(file, 5, fault, "write ${steps.NAME.output} into its prompt")
    return files


def _input(file: Node, scope: Scope, page: Translation) -> Node:
    parts = parts_of(str(file.value))
    if all(isinstance(part, str) for part in parts):
        return new_node(scope.path(file), file)
    return new_node(f"{FOLDER}/{as_value(parts, scope.meaning(file, page))}", file)


def _prompt(step: Node, scope: Scope, page: Translation) -> Any:
    said = fields(step)
    if "prompt" in said:
        words = said["prompt"]
        return new_node(as_prompt(parts_of(str(words.value)), scope.meaning(words, page)), words)
    file = said.get("prompt_file", next(iter(_files(step)), None))
    if text(file) is None or file is None:
        page.complain(step, 20, "a provider needs a prompt", "name its file by input_file or prompt_file")
        return "Go on."
    maker = scope.maker_of(str(file.value))
    if maker is not None:
        return new_node(f"{{{{ steps.{scope.names[maker]}.text }}}}", file)
    path = scope.path(file)
    return new_node(path if is_prompt_file(path) else f"Do what the file {path} says.", file)
