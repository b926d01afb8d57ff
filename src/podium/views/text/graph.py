"""Draws a workflow as an outline for a terminal, as Mermaid, or for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, assert_never

from podium.core import model
from podium.core.expressions.nodes import Node, show
from podium.core.queries.graph import targets_of
from podium.core.queries.steps import children_of
from podium.core.step_settings import ChildRun
from podium.views.format import plural


class Edge(NamedTuple):
    source: str
    target: str
    label: str


def as_text(workflow: model.Workflow) -> str:
    """An outline: one line per step, indented by block, with its needs and routes."""
    lines = [workflow.name, *_outline(workflow.body, "  ")]
    if workflow.finally_ is not None and isinstance(workflow.finally_.verb, model.Block):
        lines += ["  finally", *_outline(workflow.finally_.verb, "    ")]
    return "\n".join(lines) + "\n"


def _outline(block: model.Block, indent: str) -> Iterator[str]:
    for step in block.steps:
        yield f"{indent}{step.name}  {describe(step)}"
        if step.needs:
            rule = "" if step.needs_rule == "all" else f" ({step.needs_rule})"
            yield f"{indent}  needs {', '.join(block.steps[i].name for i in step.needs)}{rule}"
        for outcome, target in targets_of(step):
            yield f"{indent}  {outcome} -> {_target(block, target)}"
        inner = _inner(step)
        if inner is not None:
            yield from _outline(inner, indent + "    ")


def describe(step: model.Step) -> str:
    """A short description of a step."""
    verb = step.verb
    extras = [f"gates: {', '.join(g.name for g in children_of(step.gates.verb))}"] if step.gates else []  # type: ignore[arg-type]  # the verb of `gates` is Gates
    if step.when is not None:
        extras.append("when ...")
    extras += _rule(verb)
    for entry in step.retry.upgrade:
        names = " ".join(filter(None, (entry.agent, entry.model)))
        extras.append(f"after {plural(entry.after, 'failure')}: {names}")
    extras += uses(step)
    text = describe_verb(verb)
    return f"[{text}]" + (f"  {'; '.join(extras)}" if extras else "")


def uses(step: model.Step) -> Iterator[str]:
    """What a step reads that is not among the files of the run."""
    if step.memory:
        yield f"memory {step.memory}"
    base = step.settings.base
    if base is not None:
        yield f"at {base if isinstance(base, str) else '...'}"


def _rule(verb: model.Verb) -> Iterator[str]:
    """How many members must pass, unless it is all of them."""
    if isinstance(verb, model.Block | model.Members | model.ForEach | model.Review) and verb.rule != "all":
        rule = f"{verb.rule:.0%}" if isinstance(verb.rule, float) else verb.rule
        stops = not isinstance(verb, model.Review) and verb.cancels_rest
        yield f"pass: {rule}, cancel: rest" if stops else f"pass: {rule}"


def describe_verb(verb: model.Verb) -> str:
    """What a step does, without its gates and rules."""
    match verb:
        case model.Agent():
            return f"{'person' if verb.by_hand else 'agent'} {_role_and_agent(verb)}"
        case model.Command():
            return "run " + " ".join(part if isinstance(part, str) else "..." for part in verb.argv[:4])
        case model.Review():
            return "review by " + _members(verb)
        case model.Members():
            return "agents " + _members(verb)
        case model.Human():
            return "human"
        case model.Check():
            return "check"
        case model.Wait():
            return f"wait for {verb.what}{_polled(verb)}"
        case model.Set():
            return "set " + ", ".join(name for name, _ in verb.values)
        case model.Continue():
            return "continue as a new run"
        case model.Git():
            return (
                f"git land on {len(verb.land)} branches"
                if isinstance(verb.land, tuple)
                else "git land"
                if verb.land
                else "git branch"
                if verb.branch
                else "git stash"
            )
        case model.ForEach():
            return f"for each {verb.name}: {describe_verb(verb.body.verb)}"
        case model.Repeat():
            return f"repeat {verb.kind}: {describe_verb(verb.body.verb)}"
        case model.Call():
            return f"workflow {verb.workflow.name}" + (
                "" if verb.place is None else f" in {verb.place.folder}"
            )
        case ChildRun():
            return f"workflow {verb.place.file} in {verb.place.folder}"
        case model.Block():
            return {"seq": "steps", "dag": "graph", "par": "parallel"}[verb.kind]
        case model.Write():
            return "write"
        case model.Gates():
            return "gates"
        case _:
            assert_never(verb)


def _polled(verb: model.Wait) -> str:
    argv = verb.detail.get("argv", ()) if verb.what == "poll" else ()
    words = " ".join(part if isinstance(part, str) else "..." for part in argv[:4])
    return f" {words}" if words else ""


def _members(verb: model.Members | model.Review) -> str:
    if verb.panel is None:
        return ", ".join(member.name for member in verb.members)
    return f"from {show(verb.panel.names)}" if isinstance(verb.panel.names, Node) else "..."


def _role_and_agent(verb: model.Agent) -> str:
    names = [name for name in (verb.role, verb.agent) if isinstance(name, str)]
    return " by ".join(names) if names else "..."


def _target(block: model.Block, target: model.Target) -> str:
    return block.steps[target.step].name if target.kind == "step" else target.kind


def _inner(step: model.Step) -> model.Block | None:
    match step.verb:
        case model.Block():
            return step.verb
        case model.Call():
            return step.verb.workflow.body
        case model.ForEach() | model.Repeat():
            return _inner(step.verb.body)
        case _:
            return None


def as_mermaid(workflow: model.Workflow) -> str:
    lines = ["flowchart TD", *_nodes(workflow.body, "", "  ")]
    lines += [
        f"  {e.source} -->{f'|{e.label}|' if e.label else ''} {e.target}" for e in _edges(workflow.body, "")
    ]
    return "\n".join(lines) + "\n"


def _nodes(block: model.Block, prefix: str, indent: str) -> Iterator[str]:
    for step in block.steps:
        name, inner = f"{prefix}{step.name}", _inner(step)
        if inner is None:
            yield f'{indent}{name}["{_quoted("<br/>".join(_label(step)))}"]'
            continue
        yield f'{indent}subgraph {name}["{_quoted(": ".join(_label(step)))}"]'
        yield from _nodes(inner, f"{name}_", indent + "  ")
        yield f"{indent}end"


def _label(step: model.Step) -> Iterator[str]:
    yield step.name
    yield describe_verb(step.verb)
    if step.gates is not None and isinstance(step.gates.verb, model.Gates):
        yield f"gates: {', '.join(gate.name for gate in step.gates.verb.members)}"
    yield from uses(step)


def as_dot(workflow: model.Workflow) -> str:
    """The graph in the language of Graphviz."""
    edges = (
        f"  {_dot(edge.source)} -> {_dot(edge.target)}"
        + (f" [label={_dot(edge.label)}]" if edge.label else "")
        for edge in _edges(workflow.body, "")
    )
    lines = [
        f"digraph {_dot(workflow.name)} {{",
        "  node [shape=box, style=rounded]",
        "  compound=true",
        *_dot_nodes(workflow.body, "", "  "),
        *edges,
        "}",
    ]
    return "\n".join(lines) + "\n"


def _dot_nodes(block: model.Block, prefix: str, indent: str) -> Iterator[str]:
    """A block is a cluster that also has a node of its name, so that edges can lead to it."""
    for step in block.steps:
        name, inner = f"{prefix}{step.name}", _inner(step)
        label = "\n".join(_label(step))
        if inner is None:
            yield f"{indent}{_dot(name)} [label={_dot(label)}]"
            continue
        yield f"{indent}subgraph {_dot(f'cluster_{name}')} {{"
        yield f"{indent}  {_dot(name)} [label={_dot(label)}, shape=plaintext]"
        yield from _dot_nodes(inner, f"{name}_", indent + "  ")
        yield f"{indent}}}"


def _dot(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;")


def _edges(block: model.Block, prefix: str) -> Iterator[Edge]:
    for number, step in enumerate(block.steps):
        name = f"{prefix}{step.name}"
        onwards = [target.kind for outcome, target in targets_of(step) if outcome == "passed"] or ["next"]
        if block.kind == "seq" and "next" in onwards and number + 1 < len(block.steps):
            yield Edge(name, f"{prefix}{block.steps[number + 1].name}", "")
        for need in step.needs:
            rule = "" if step.needs_rule == "all" else step.needs_rule
            yield Edge(f"{prefix}{block.steps[need].name}", name, rule)
        for outcome, target in targets_of(step):
            if target.kind == "step":
                yield Edge(name, f"{prefix}{block.steps[target.step].name}", outcome)
        inner = _inner(step)
        if inner is not None:
            yield from _edges(inner, f"{name}_")
