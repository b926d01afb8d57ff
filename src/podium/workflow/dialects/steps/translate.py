"""The steps format: a list of named steps with `command` or `provider`, and `goto` for every outcome.

    version: "1.0"
    name: demo
    steps:
      - name: Build
        command: [make, "${context.target}"]
        on: {success: {goto: _end}, failure: {error: Build failed}}

Steps work in the folder `workspace/` of the project itself, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from podium.workflow.dialects.steps.conditions import condition
from podium.workflow.dialects.steps.routes import leaving, routes
from podium.workflow.dialects.steps.scope import Scope, all_steps, artifact, inner_steps
from podium.workflow.dialects.steps.shims import shims_of
from podium.workflow.dialects.steps.text import as_expression, as_value, parts_of
from podium.workflow.dialects.steps.work import command, provider
from podium.workflow.dialects.translation import Kind, Names, Translation, name_of, new_node, seconds
from podium.workflow.source.nodes import Node, fields, items, text

TOP: Final = (
    "version",
    "name",
    "description",
    "strict_flow",
    "context",
    "secrets",
    "env",
    "timeout",
    "steps",
)
KINDS: Final = ("command", "provider", "for_each", "set_context", "while", "parallel")
LIMITED: Final = ("name", "when", "on", "allow_missing_vars", "catch", "description")
WORKING: Final = (*LIMITED, "timeout", "retry", "secrets", "input_file", "input_files", "output_file")
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "command": (*WORKING, "command"),
    "provider": (*WORKING, "provider", "model", "max_tokens", "prompt", "prompt_file"),
    "for_each": (*LIMITED, "for_each"),
    "while": (*LIMITED, "while"),
    "parallel": (*LIMITED, "parallel"),
    "set_context": (*LIMITED, "set_context"),
}
MAX_ROUNDS: Final = 1000


def translate(root: Node, kind: Kind, page: Translation) -> Node | None:
    steps = fields(root).get("steps")
    is_ours = steps is not None and isinstance(steps.value, tuple) and "workflow" not in fields(root)
    if kind != "workflow" or not is_ours or any("id" in fields(step) for step in items(steps)):
        return None
    page.check_keys(root, "a workflow of steps", TOP)
    _check_version(fields(root).get("version"), page)
    return _file(root, page)


def _check_version(node: Node | None, page: Translation) -> None:
    if node is None:
        return
    written = node.source or str(node.value)
    if written.partition(".")[0] != "1":
        page.complain(
            node, 2, f'version "{written}" of the steps format is not known', 'write version: "1.0"'
        )


def _file(root: Node, page: Translation) -> Node:
    said = fields(root)
    everything = all_steps(items(said.get("steps")))
    shims, agents = shims_of(everything, page)
    scope = Scope(
        names=Names(_name(step) for step in everything),
        agents=frozenset(_name(step) for step in everything if "provider" in fields(step)),
        files={
            artifact(_name(step), left): _name(step)
            for step in everything
            if (left := text(fields(step).get("output_file")))
        },
        shims=shims,
    )
    steps = _block(items(said.get("steps")), scope, page, top=said.get("secrets"))
    file: dict[str, Any] = {
        "podium": 1,
        "name": _title(said.get("name")),
        "description": said.get("description"),
        "strict": said.get("strict_flow"),
        "vars": _vars(said.get("context"), scope) or None,
        "secrets": said.get("secrets"),
        "env": _env(said.get("env"), scope),
        "limits": {"time": seconds(said["timeout"])} if "timeout" in said else None,
        "workspace": "inplace",
        "agents": agents or None,
        "steps": new_node(steps, said["steps"]),
    }
    return new_node(file, root)


def _name(step: Node) -> str:
    return text(fields(step).get("name")) or "step"


def _title(node: Node | None) -> Node | None:
    return new_node(name_of(node.value), node) if node is not None and isinstance(node.value, str) else node


def _vars(context: Node | None, scope: Scope) -> dict[str, Any]:
    """Scalars are texts there; what is read and not given is for `--context` to give, or missing at its place."""
    given: dict[str, Any] = {
        name_of(key): replace(node, value=node.source) if node.source is not None else node
        for key, node in fields(context).items()
    }
    missing = {
        name: Node(None, node.place, node.key) for name, node in scope.read.items() if name not in given
    }
    return {**given, **missing}


def _env(env: Node | None, scope: Scope) -> Node | list[str] | None:
    asked = sorted(scope.env - {str(item.value) for item in items(env)})
    if not asked:
        return env
    return [*(str(item.value) for item in items(env)), *asked]


def _block(steps: tuple[Node, ...], scope: Scope, page: Translation, *, top: Node | None) -> dict[str, Node]:
    block: dict[str, Node] = {}
    for step in steps:
        written = fields(step).get("name")
        if text(written) is None:
            page.complain(step, 2, "a step needs a name", "write name: and a text")
        name = scope.names[_name(step)]
        if name in block:
            page.complain(step, 6, f'two steps are named "{_name(step)}"')
        following = _after(step, steps, scope)
        block[name] = _step(step, scope, page, top=top, first=_name(steps[0]), following=following)
        rescue = fields(step).get("catch")
        if rescue is not None:
            block[f"{name}_catch"] = _catch(step, rescue, scope, page, top=top, first=_name(steps[0]))
    return block


def _after(step: Node, steps: tuple[Node, ...], scope: Scope) -> str:
    index = steps.index(step)
    return scope.names[_name(steps[index + 1])] if index + 1 < len(steps) else "end"


def _step(  # what surrounds a step
    step: Node, scope: Scope, page: Translation, *, top: Node | None, first: str, following: str
) -> Node:
    said = fields(step)
    kinds = [kind for kind in KINDS if kind in said]
    if len(kinds) != 1:
        told = " and ".join(f'"{kind}"' for kind in kinds) or "nothing to do"
        page.complain(
            step, 4, f'step "{_name(step)}" has {told}', f"it has exactly one of {', '.join(KINDS)}"
        )
        return new_node({"run": ["true"]}, step)
    [kind] = kinds
    page.check_keys(step, f'step "{_name(step)}"', KEYS[kind])
    here = replace(
        scope, optional=frozenset(str(item.value) for item in items(said.get("allow_missing_vars")))
    )
    native: dict[str, Any] = {"description": said.get("description")}
    if "when" in said:
        native["when"] = new_node(condition(said["when"], here, page), said["when"])
    native |= _work(kind, step, here, page, top=top)
    native["on"] = routes(step, here, page, kind=kind, first=first, following=following)
    return new_node(native, said.get("name", step))


def _work(kind: str, step: Node, scope: Scope, page: Translation, *, top: Node | None) -> dict[str, Any]:
    said = fields(step)
    match kind:
        case "command":
            return command(step, scope, page, secrets=said.get("secrets", top))
        case "provider":
            return provider(step, scope, page, secrets=said.get("secrets", top))
        case "set_context":
            return {
                "set": {name_of(key): _set(item, scope, page) for key, item in fields(said[kind]).items()}
            }
        case "parallel":
            inner = _block(inner_steps(said[kind]), replace(scope, leave=None), page, top=top)
            return {"parallel": True, "steps": inner}
        case "while":
            return _while(said[kind], scope, page, top=top, leave=leaving(step, kind))
        case _:
            return _for_each(said[kind], scope, page, top=top, leave=leaving(step, kind))


def _set(node: Node, scope: Scope, page: Translation) -> Node:
    is_scalar = not isinstance(node.value, str) and node.source is not None
    return replace(node, value=node.source, source=None) if is_scalar else _filled(node, scope, page)


def _filled(node: Node, scope: Scope, page: Translation) -> Node:
    """Texts with their values, however deep they stand."""
    if isinstance(node.value, str):
        parts, meaning = parts_of(node.value), scope.meaning(node, page)
        # Spelled where it is one number, so that a condition can compare it with a text.
        return new_node(as_value(parts, lambda ref: scope.spelled(parts, meaning(ref))), node)
    if isinstance(node.value, tuple):
        return replace(node, value=tuple(_filled(each, scope, page) for each in node.value))
    if isinstance(node.value, Mapping):
        return replace(node, value={key: _filled(each, scope, page) for key, each in node.value.items()})
    return node


def _for_each(
    loop: Node, scope: Scope, page: Translation, *, top: Node | None, leave: str | None
) -> dict[str, Any]:
    page.check_keys(loop, "for_each", ("items", "as", "steps"))
    said = fields(loop)
    item = text(said.get("as")) or "item"
    over = said.get("items", loop)
    if isinstance(over.value, str):
        over = new_node(as_expression(parts_of(over.value), scope.meaning(over, page)), over)
    elif isinstance(over.value, tuple):
        over = replace(over, value=tuple(_set(each, scope, page) for each in over.value))
    named = name_of(item)
    inner = _left(_block(inner_steps(loop), scope.inside(item, leave), page, top=top), leave, loop)
    return {"for_each": over if named == "item" else {"in": over, "as": named}, "steps": inner}


def _while(
    loop: Node, scope: Scope, page: Translation, *, top: Node | None, leave: str | None
) -> dict[str, Any]:
    page.check_keys(loop, "while", ("condition", "max_iterations", "steps"))
    said = fields(loop)
    test = condition(said.get("condition", loop), scope, page)
    rounds = said.get("max_iterations", MAX_ROUNDS)
    inner = _left(_block(inner_steps(loop), scope.inside(None, leave), page, top=top), leave, loop)
    return {"repeat": {"while": test, "max": rounds, "on_exhausted": "fail"}, "steps": inner}


def _left(body: dict[str, Node], leave: str | None, loop: Node) -> dict[str, Node]:
    """With the step behind the others that leaves the loop; only those that failed lead to it."""
    if leave is None:
        return body
    name, last = list(body.items())[-1]
    leads = {"passed": "end", **fields(fields(last).get("on"))}
    ends = new_node({"check": "true", "on": {"passed": "break", "failed": "fail"}}, loop)
    return {**body, name: new_node({**fields(last), "on": leads}, last), leave: ends}


def _catch(  # what surrounds a step
    step: Node, rescue: Node, scope: Scope, page: Translation, *, top: Node | None, first: str
) -> Node:
    """What is done about a failure; after it the run goes on as if the step had passed."""
    inner = _block(inner_steps(rescue), replace(scope, leave=None), page, top=top)
    kept = replace(step, value={key: node for key, node in fields(step).items() if key != "catch"})
    leads = routes(kept, scope, page, kind="for_each", first=first, following="next")
    return new_node({"steps": inner, "on": leads}, rescue)
