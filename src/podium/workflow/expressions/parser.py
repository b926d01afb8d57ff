"""Parses text to nodes: bare expressions, and values with `${{ }}` inserts.

The grammar is Python's, read by Python's own parser in eval mode; a whitelist converts what the language has and
refuses the rest with a hint. Nothing is ever compiled or run.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from typing import Final

from podium.core.expressions.functions import ARITY, check_arity
from podium.core.expressions.nodes import (
    And,
    Arith,
    Call,
    Compare,
    Const,
    ExprError,
    Field,
    IfElse,
    Item,
    ListOf,
    Name,
    Negate,
    Node,
    Not,
    Or,
)
from podium.core.expressions.operators import ArithmeticSign, CompareSign
from podium.core.expressions.templates import Text, walk
from podium.core.expressions.values import MAX_INT, MAX_NODES
from podium.errors import ConfigurationError
from podium.workflow.expressions.lexer import LexerError, Source, mask, unquote
from podium.workflow.problems import did_you_mean

OPEN: Final = "${{"
MAX_INSERTS: Final = 200
TOO_MANY: Final = f"this expression has more than {MAX_NODES} parts"

_LITERALS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None}
_COMPARE: Final[Mapping[type[ast.cmpop], CompareSign]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_ARITHMETIC: Final[Mapping[type[ast.operator], ArithmeticSign]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_REFUSED: Final[Mapping[type[ast.expr], tuple[str, str]]] = {
    ast.ListComp: (
        "comprehensions are not allowed",
        'use where(list, "field", "==", x) or pluck(list, "field")',
    ),
    ast.GeneratorExp: (
        "comprehensions are not allowed",
        'use where(list, "field", "==", x) or pluck(list, "field")',
    ),
    ast.Lambda: ("functions cannot be defined in an expression", ""),
    ast.Tuple: ("a list needs square brackets", "write [a, b]"),
    ast.Starred: ('"*" is not allowed here', ""),
}
_INSERT_TOKEN: Final = re.compile(
    r"""'(?:[^'\\\n]|\\[^\n])*'|"(?:[^"\\\n]|\\[^\n])*"|[^'"{}]+|.""", re.DOTALL
)


class ExpressionError(ConfigurationError):
    """`line` and `column` count from 1 in the parsed text."""

    def __init__(self, message: str, column: int, hint: str = "", *, line: int = 1) -> None:
        super().__init__(message, hint=hint or None)
        self.line = line
        self.column = column


def parse_expression(text: str) -> Node:
    try:
        return _parse(text)
    except LexerError as fault:
        raise _with_position(fault, text) from fault


def parse_value(text: str) -> str | Text | Node:
    """A text without inserts stays text; a single insert is a bare node. A literal `${{` is written `$${{`."""
    try:
        parts = tuple(_parts(text))
    except LexerError as fault:
        raise _with_position(fault, text) from fault
    if len(parts) == 1 and not isinstance(parts[0], str):
        return parts[0]
    if all(isinstance(part, str) for part in parts):
        return "".join(str(part) for part in parts)
    return Text(parts)


def has_insert(text: str) -> bool:
    """Whether the text contains `${{`, not counting `$${{`."""
    return OPEN in text.replace("$" + OPEN, "")


def has_jinja(text: str) -> bool:
    """Whether the text looks like a prompt: `{{ }}` without the dollar sign, or `{% %}`."""
    bare = text.replace(OPEN, "")
    return any(
        (start := bare.find(opening)) >= 0 and bare.find(closing, start) >= 0
        for opening, closing in (("{{", "}}"), ("{%", "%}"))
    )


def _with_position(fault: LexerError, text: str) -> ExpressionError:
    before = text[: fault.offset]
    column = fault.offset - (before.rfind("\n") + 1) + 1
    return ExpressionError(fault.message, column, fault.hint, line=before.count("\n") + 1)


def _parts(text: str) -> Iterator[str | Node]:
    position = inserts = 0
    while (start := text.find(OPEN, position)) >= 0:
        if start > position and text[start - 1] == "$":
            yield text[position : start - 1] + OPEN
            position = start + len(OPEN)
            continue
        if start > position:
            yield text[position:start]
        inserts += 1
        if inserts > MAX_INSERTS:
            raise LexerError(f"this text has more than {MAX_INSERTS} inserts", start)
        end = _end_of_insert(text, start)
        yield _parse(text[start + len(OPEN) : end], start + len(OPEN))
        position = end + 2
    if position < len(text) or not text:
        yield text[position:]


def _end_of_insert(text: str, start: int) -> int:
    """The offset of the closing braces; braces inside strings and inner braces do not count."""
    depth = 0
    for token in _INSERT_TOKEN.finditer(text, start + len(OPEN)):
        if token[0] in ("'", '"'):
            is_broken = "\n" in text[token.start() :].partition("}}")[0]
            hint = "a line break ends the text; in YAML put the value into single quotes, where \\n stays"
            raise LexerError(
                'a quote inside "${{ }}" is not closed', token.start(), hint if is_broken else ""
            )
        if token[0] == "{":
            depth += 1
        elif token[0] == "}" and depth:
            depth -= 1
        elif token[0] == "}" and text.startswith("}}", token.start()):
            return token.start()
    raise LexerError('"${{" is not closed', start, 'write "$${{" for a literal "${{"')


def _parse(text: str, base: int = 0) -> Node:
    """The node; offsets of faults are shifted to the beginning of the whole text."""
    indent = len(text) - len(text.lstrip())
    try:
        source = mask(text.strip())
        node = _convert(_tree(source), source)
        _check_size(node)
    except LexerError as fault:
        raise LexerError(fault.message, base + indent + fault.offset, fault.hint) from fault
    return node


def _tree(source: Source) -> ast.expr:
    tree = _parse_python(source)
    # Counted before the recursive walk, because `-----x` is as deep as it is long.
    if sum(isinstance(part, ast.expr) for part in ast.walk(tree)) > MAX_NODES:
        raise LexerError(TOO_MANY, 0)
    return tree


def _parse_python(source: Source) -> ast.expr:
    try:
        return ast.parse(source.masked, mode="eval").body
    except SyntaxError as error:
        # Python counts from 1 and reports 0 for the end of the text.
        offset = error.offset - 1 if error.offset else len(source.text)
        raise _syntax_fault(error, source, offset) from error
    except (MemoryError, RecursionError) as error:
        # The depth limit of Python's parser differs by version; a text beyond it has far too many parts.
        raise LexerError(TOO_MANY, 0) from error


def _syntax_fault(error: SyntaxError, source: Source, offset: int) -> LexerError:
    message = str(error.msg)
    if "never closed" in message or "unmatched" in message:
        return LexerError(f'"{source.text[offset]}" has no matching bracket', offset)
    if "expected 'else'" in message:
        return LexerError('"if" needs "else"', offset, 'write "a if condition else b"')
    remaining = source.text[offset:].split()
    if not remaining:
        return LexerError("the expression is incomplete", offset)
    return LexerError(
        f'unexpected "{remaining[0][:30]}"', offset, "a comma may be missing" if "comma" in message else ""
    )


def _check_size(node: Node) -> None:
    if len(list(islice(walk(node), MAX_NODES + 1))) > MAX_NODES:
        raise LexerError(TOO_MANY, 0)


def _convert(tree: ast.expr, source: Source) -> Node:
    match tree:
        case ast.Constant():
            return _constant(tree, source)
        case ast.Name():
            name = _word(tree, source)
            return Const(_LITERALS[name]) if name in _LITERALS else Name(_check_public(name, tree))
        case ast.Attribute():
            return Field(_convert(tree.value, source), _check_public(_attribute(tree, source), tree))
        case ast.Subscript(slice=ast.Slice()):
            return _slice(tree, source)
        case ast.Subscript():
            return Item(_convert(tree.value, source), _convert(tree.slice, source))
        case ast.BoolOp():
            terms = tuple(_convert(value, source) for value in tree.values)
            return And(terms) if isinstance(tree.op, ast.And) else Or(terms)
        case ast.UnaryOp():
            return _unary(tree, source)
        case ast.BinOp(left=left, op=op, right=right):
            return Arith(_ARITHMETIC[type(op)], _convert(left, source), _convert(right, source))
        case ast.Compare():
            return _comparison(tree, source)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return IfElse(_convert(test, source), _convert(body, source), _convert(orelse, source))
        case ast.List(elts=elements):
            return ListOf(tuple(_convert(element, source) for element in elements))
        case ast.Call():
            return _call(tree, source)
        case _:
            message, hint = _REFUSED.get(type(tree), ("this is not allowed in an expression", ""))
            raise LexerError(message, tree.col_offset, hint)


def _slice(tree: ast.Subscript, source: Source) -> Node:
    """Converts `xs[a:b]` to `slice(xs, a, b)`."""
    bounds = tree.slice
    assert isinstance(bounds, ast.Slice)
    if bounds.step is not None:
        raise LexerError("a slice has a start and an end, and no step", tree.col_offset)
    start, end = (
        Const(None) if part is None else _convert(part, source) for part in (bounds.lower, bounds.upper)
    )
    return Call("slice", (_convert(tree.value, source), start, end))


def _word(tree: ast.expr, source: Source) -> str:
    return source.original(tree.col_offset, tree.end_col_offset or 0)


def _attribute(tree: ast.Attribute, source: Source) -> str:
    end = tree.end_col_offset or 0
    return source.original(end - len(tree.attr), end)


def _check_public(name: str, tree: ast.expr) -> str:
    if name.startswith("_"):
        raise LexerError(f'"{name}" is not a valid name; names cannot begin with "_"', tree.col_offset)
    return name


def _constant(tree: ast.Constant, source: Source) -> Const:
    word = _word(tree, source)
    if isinstance(tree.value, str):
        return Const(unquote(word, tree.col_offset))
    if isinstance(tree.value, bool) or tree.value is None:
        correct = {"True": "true", "False": "false", "None": "null"}[word]
        raise LexerError(f'"{word}" is not a value', tree.col_offset, f'write "{correct}"')
    return Const(_number(tree, source, maximum=MAX_INT))


def _number(tree: ast.Constant, source: Source, *, maximum: int) -> int | float:
    value, word = tree.value, _word(tree, source)
    if not isinstance(value, int | float) or word.startswith("."):
        raise LexerError(f'"{word}" is not a decimal number', tree.col_offset)
    if value > maximum if isinstance(value, int) else not math.isfinite(value):
        raise LexerError("this number is too big", tree.col_offset)
    return value


def _unary(tree: ast.UnaryOp, source: Source) -> Node:
    operand = tree.operand
    if isinstance(tree.op, ast.Not):
        return Not(_convert(operand, source))
    if not isinstance(tree.op, ast.USub):
        raise LexerError('"+" before a value is not allowed', tree.col_offset)
    if isinstance(operand, ast.Constant) and type(operand.value) in (int, float):
        return Const(-_number(operand, source, maximum=MAX_INT + 1))
    return Negate(_convert(operand, source))


def _comparison(tree: ast.Compare, source: Source) -> Node:
    """Converts `1 < x < 3` to `1 < x and x < 3`."""
    nodes = [_convert(operand, source) for operand in (tree.left, *tree.comparators)]
    pairs = [
        Compare(_compare_sign(op, operand), left, right)
        for op, operand, (left, right) in zip(tree.ops, tree.comparators, pairwise(nodes), strict=True)
    ]
    if len(pairs) == 1:
        return pairs[0]
    # A middle operand is now duplicated; deep nesting would grow without bound.
    _check_size(And(tuple(pairs)))
    return And(tuple(pairs))


def _compare_sign(op: ast.cmpop, operand: ast.expr) -> CompareSign:
    if type(op) not in _COMPARE:
        raise LexerError('"is" is not an operator', operand.col_offset, 'write "==" or "!="')
    return _COMPARE[type(op)]


def _call(tree: ast.Call, source: Source) -> Node:
    if isinstance(tree.func, ast.Attribute):
        raise _method(tree.func, source)
    name = _word(tree.func, source)
    if not isinstance(tree.func, ast.Name) or name not in ARITY:
        raise LexerError(f'calls to "{name}" are not allowed', tree.col_offset, did_you_mean(name, ARITY))
    args = tuple(_convert(arg, source) for arg in tree.args)
    try:
        check_arity(name, len(args))
        if name == "matches" and isinstance(args[1], Const) and isinstance(args[1].value, str):
            from podium.core.expressions.regex import check_pattern

            check_pattern(args[1].value)
    except ExprError as error:
        raise LexerError(str(error), tree.col_offset) from error
    return Call(name, args)


def _method(tree: ast.Attribute, source: Source) -> LexerError:
    name = _attribute(tree, source)
    hint = f"write {name}({_word(tree.value, source)})" if name in ARITY else ""
    return LexerError(f'calls to ".{name}" are not allowed', tree.col_offset, hint)
