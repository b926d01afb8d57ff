"""Checks the tree of a prompt before it is rendered: what is allowed, what it reads, and what it costs.

Allowed are if, for, set, include, filter and plain expressions. Reads are reported with their line, so that an
undeclared name is a load error. Loops and comparisons are replaced by metered ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, cast

from jinja2 import Environment, nodes

from podium.core.expressions.functions import ARITY
from podium.fast_dataclass import dataclass
from podium.workflow.problems import did_you_mean
from podium.workflow.prompts.environment import FILTERS, TESTS
from podium.workflow.prompts.prompt import Chain, PromptError, PromptReference

MAX_DEPTH: Final = 40
MAX_PARTS: Final = 20_000
PER_PART: Final = 50

_ALLOWED: Final = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.If,
    nodes.For,
    nodes.Assign,
    nodes.AssignBlock,
    nodes.FilterBlock,
    nodes.Include,
    nodes.Name,
    nodes.Const,
    nodes.List,
    nodes.Tuple,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Call,
    nodes.Keyword,
    nodes.Filter,
    nodes.Test,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.CondExpr,
    nodes.Add,
    nodes.Sub,
    nodes.Mul,
    nodes.Div,
    nodes.Mod,
    nodes.Neg,
)
_REFUSALS: Final[Mapping[type[nodes.Node], str]] = {
    nodes.Block: '"block" is not allowed in a prompt',
    nodes.Extends: '"extends" is not allowed in a prompt',
    nodes.Import: '"import" is not allowed in a prompt',
    nodes.FromImport: '"import" is not allowed in a prompt',
    nodes.Macro: '"macro" is not allowed in a prompt',
    nodes.CallBlock: '"call" is not allowed in a prompt',
    nodes.With: '"with" is not allowed in a prompt',
    nodes.Dict: "maps cannot be written in a prompt",
    nodes.Slice: "slices are not allowed in a prompt",
    nodes.Concat: '"~" is not allowed in a prompt; use join([a, b])',
    nodes.Pow: '"**" is not allowed in a prompt',
    nodes.FloorDiv: '"//" is not allowed in a prompt',
}
_SIGNS: Final[Mapping[str, str]] = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "lteq": "<=",
    "gt": ">",
    "gteq": ">=",
    "in": "in",
    "notin": "not in",
}


@dataclass(frozen=True, slots=True)
class _Scope:
    file: str
    bound: frozenset[str] = frozenset()
    """Names that the prompt itself defines: loop targets and names that were set."""
    guards: frozenset[Chain] = frozenset()
    """What a surrounding condition has found to be defined."""
    optional: bool = False


def check(tree: nodes.Template, file: str) -> None:
    """Raises PromptError for the first node that is not allowed."""
    parts = 0
    pending: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        parts += 1
        if parts > MAX_PARTS or depth > MAX_DEPTH:
            raise PromptError("this prompt has too many parts or is nested too deep", node.lineno, file=file)
        if type(node) not in _ALLOWED:
            message = _REFUSALS.get(type(node), f"{type(node).__name__} is not allowed in a prompt")
            raise PromptError(message, node.lineno, file=file)
        fault = _node_fault(node)
        if fault is not None:
            raise PromptError(fault[0], node.lineno, fault[1], file=file)
        pending.extend((child, depth + 1) for child in node.iter_child_nodes())


def _node_fault(node: nodes.Node) -> tuple[str, str] | None:
    """A message and a hint, for kinds of nodes that are only partly allowed."""
    match node:
        case nodes.Name(name="self"):
            return '"self" is not a valid name', ""
        case nodes.Name(name=name) | nodes.Getattr(attr=name) if name.startswith("_"):
            return f'"{name}" is not a valid name; names cannot begin with "_"', ""
        case nodes.Call():
            return _call_fault(node)
        case nodes.Filter(name=name) if name not in FILTERS:
            return f'filter "{name}" does not exist', did_you_mean(name, FILTERS)
        case nodes.Test(name=name) if name not in TESTS:
            return f'test "{name}" does not exist', did_you_mean(name, TESTS)
        case nodes.Filter() | nodes.Test() if node.dyn_args is not None or node.dyn_kwargs is not None:
            return '"*" is not allowed here', ""
        case nodes.For(recursive=True):
            return "recursive loops are not allowed", ""
        case nodes.Include(template=nodes.Const(value=str()), with_context=True, ignore_missing=False):
            return None
        case nodes.Include():
            return "include needs the plain name of a file", '{% include "common.md" %}'
        case _:
            return None


def _call_fault(node: nodes.Call) -> tuple[str, str] | None:
    if isinstance(node.node, nodes.Getattr):
        return f'calls to ".{node.node.attr}" are not allowed', ""
    name = node.node.name if isinstance(node.node, nodes.Name) else "this"
    if name not in ARITY:
        return f'calls to "{name}" are not allowed', did_you_mean(name, ARITY)
    if node.kwargs or node.dyn_args is not None or node.dyn_kwargs is not None:
        return f"{name} takes only positional arguments", ""
    return None


def includes(tree: nodes.Template) -> Iterator[tuple[str, int]]:
    """The names of included files with their lines; `check` has made sure that they are plain."""
    for node in tree.find_all(nodes.Include):
        yield cast(nodes.Const, node.template).value, node.lineno


def weight(tree: nodes.Node, included: Mapping[str, int]) -> int:
    """The work of rendering the tree once, without repeated loop rounds and without output."""
    total = PER_PART
    for child in tree.iter_child_nodes():
        total += PER_PART if isinstance(child, nodes.For) else weight(child, included)
    if isinstance(tree, nodes.TemplateData):
        total += len(tree.data)
    if isinstance(tree, nodes.Include):
        total += included[cast(nodes.Const, tree.template).value]
    return total


def meter_tree(tree: nodes.Template, included: Mapping[str, int], environment: Environment) -> nodes.Template:
    """The same tree with loops charged per round and with the comparisons of expressions."""
    for loop in list(tree.find_all(nodes.For)):
        cost = sum(weight(node, included) for node in (*loop.body, loop.target))
        loop.iter = _filter(loop.iter, "_each", [nodes.Const(cost)])
    _replace_comparisons(tree)
    tree.set_environment(environment)
    return tree


def _filter(subject: nodes.Node, name: str, args: list[nodes.Expr]) -> nodes.Filter:
    return nodes.Filter(subject, name, args, [], None, None, lineno=subject.lineno)


def _replace_comparisons(node: nodes.Node) -> None:
    for name, value in node.iter_fields():
        if isinstance(value, list):
            setattr(node, name, [_meter_comparison(inner) for inner in value])
        else:
            setattr(node, name, _meter_comparison(value))


def _meter_comparison(value: object) -> object:
    if not isinstance(value, nodes.Node):
        return value
    _replace_comparisons(value)
    if not isinstance(value, nodes.Compare):
        return value
    left = value.expr
    terms: list[nodes.Expr] = []
    for operand in value.ops:
        terms.append(_filter(left, "_compare", [nodes.Const(_SIGNS[operand.op]), operand.expr]))
        left = operand.expr
    combined = terms[0]
    for term in terms[1:]:
        combined = nodes.And(combined, term, lineno=value.lineno)
    return combined


def reads(tree: nodes.Template, file: str) -> tuple[PromptReference, ...]:
    """Everything the prompt reads from outside, in order, without duplicates."""
    return tuple(dict.fromkeys(_body(tree.body, _Scope(file))))


def _body(body: Iterable[nodes.Node], scope: _Scope) -> Iterator[PromptReference]:
    for node in body:
        yield from _reads(node, scope)
        scope = replace(scope, bound=scope.bound | _assigned(node))


def _assigned(node: nodes.Node) -> frozenset[str]:
    """Names defined after this node; what a loop sets ends with its round."""
    if isinstance(node, nodes.Assign | nodes.AssignBlock):
        return _names(node.target)
    if isinstance(node, nodes.If):
        return frozenset().union(*(_assigned(child) for child in (*node.body, *node.elif_, *node.else_)))
    return frozenset()


def _names(target: nodes.Node) -> frozenset[str]:
    own = {target.name} if isinstance(target, nodes.Name) else set()
    return frozenset(own | {name.name for name in target.find_all(nodes.Name)})


def _reads(node: nodes.Node, scope: _Scope) -> Iterator[PromptReference]:
    chain = chain_of(node)
    if chain is not None:
        if chain[0] not in scope.bound:
            is_guarded = any(chain[: len(guard)] == guard for guard in scope.guards)
            yield PromptReference(chain, scope.optional or is_guarded, node.lineno, scope.file)
        return
    match node:
        case nodes.If() | nodes.CondExpr():
            yield from _condition(node, scope)
        case nodes.For():
            yield from _loop(node, scope)
        case nodes.Assign() | nodes.AssignBlock():
            inner = (
                [node.node]
                if isinstance(node, nodes.Assign)
                else [*([node.filter] if node.filter else []), *node.body]
            )
            yield from _body(inner, scope)
        case nodes.And(left=left, right=right) | nodes.Or(left=left, right=right):
            yield from _reads(left, scope)
            present, absent = _guards(left)
            yield from _reads(right, _with_guards(scope, present if isinstance(node, nodes.And) else absent))
        case nodes.Test(name="defined" | "undefined") | nodes.Filter(name="default" | "d"):
            yield from _read_with_default(node.node, node.args, scope)
        case nodes.Call(node=nodes.Name(name=name), args=args):
            if name == "touched":
                yield PromptReference(("change", "paths"), scope.optional, node.lineno, scope.file)
            yield from (
                _read_with_default(args[0], args[1:], scope)
                if name == "default" and args
                else _body(args, scope)
            )
        case _:
            yield from _body(node.iter_child_nodes(), scope)


def _read_with_default(
    first: nodes.Node | None, others: Iterable[nodes.Node], scope: _Scope
) -> Iterator[PromptReference]:
    if first is not None:
        yield from _reads(first, replace(scope, optional=True))
    yield from _body(others, scope)


def _condition(node: nodes.If | nodes.CondExpr, scope: _Scope) -> Iterator[PromptReference]:
    present, absent = _guards(node.test)
    yield from _reads(node.test, scope)
    if isinstance(node, nodes.If):
        yield from _body(node.body, _with_guards(scope, present))
        yield from _body((*node.elif_, *node.else_), _with_guards(scope, absent))
    else:
        yield from _reads(node.expr1, _with_guards(scope, present))
        yield from _body([node.expr2] if node.expr2 else [], _with_guards(scope, absent))


def _loop(node: nodes.For, scope: _Scope) -> Iterator[PromptReference]:
    yield from _reads(node.iter, scope)
    inner = replace(scope, bound=scope.bound | _names(node.target) | {"loop"})
    yield from _body([node.test] if node.test else [], inner)
    yield from _body(node.body, inner)
    yield from _body(node.else_, scope)


def _with_guards(scope: _Scope, chains: frozenset[Chain]) -> _Scope:
    return replace(scope, guards=scope.guards | chains)


def _guards(test: nodes.Node) -> tuple[frozenset[Chain], frozenset[Chain]]:
    """What is certainly defined if the test holds, and what if it does not."""
    none: frozenset[Chain] = frozenset()
    match test:
        case nodes.Not(node=inner):
            present, absent = _guards(inner)
            return absent, present
        case nodes.And(left=left, right=right):
            return _guards(left)[0] | _guards(right)[0], none
        case nodes.Or(left=left, right=right):
            return none, _guards(left)[1] | _guards(right)[1]
        case nodes.Test(node=subject, name="defined") | nodes.Filter(node=subject, name="default" | "d"):
            return _single_chain(subject), none
        case nodes.Test(node=subject, name="undefined"):
            return none, _single_chain(subject)
        case nodes.Call(node=nodes.Name(name="default"), args=[subject, *_]):
            return _single_chain(subject), none
        case _:
            return none, none


def _single_chain(subject: nodes.Node | None) -> frozenset[Chain]:
    chain = None if subject is None else chain_of(subject)
    return frozenset() if chain is None else frozenset({chain})


def chain_of(node: nodes.Node) -> Chain | None:
    match node:
        case nodes.Name(name=name):
            return (name,)
        case nodes.Getattr(node=of, attr=name) | nodes.Getitem(node=of, arg=nodes.Const(value=str(name))):
            chain = chain_of(of)
            return None if chain is None else (*chain, name)
        case _:
            return None
