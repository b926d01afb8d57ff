"""The parts of source texts that checks of the whole code look at, each text read once per process.

Only these parts stay in memory: the trees of all sources would take hundreds of megabytes, and every later search for
garbage would go through them.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import Final, NamedTuple

OLDEST: Final = (3, 11)

_READ: Final = frozenset(
    (
        ast.Import,
        ast.ImportFrom,
        ast.If,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.arg,
        ast.Name,
        ast.Expr,
        ast.Constant,
    )
)


class Imported(NamedTuple):
    line: int
    module: str
    """As written: "" for `import x` and for `from . import x`."""
    names: tuple[str, ...]
    level: int
    """The number of dots before the module."""
    is_plain: bool
    """True for `import x`."""
    only_types: bool
    at_top: bool
    """Not inside a function, a class or a condition."""


class Function(NamedTuple):
    line: int
    name: str
    lines: int


class Name(NamedTuple):
    line: int
    name: str
    field_of: str
    """The class that it is an annotated field of."""


class Text(NamedTuple):
    line: int
    text: str
    is_alone: bool
    """A statement of its own, such as a docstring."""


class Syntax(NamedTuple):
    imports: tuple[Imported, ...]
    functions: tuple[Function, ...]
    names: tuple[Name, ...]
    """Those of classes, functions, parameters, variables and fields, where they are defined."""
    texts: tuple[Text, ...]
    docstring: str | None


@cache
def syntax_of(source: str) -> Syntax:
    """Raises SyntaxError for what the oldest supported Python does not read."""
    tree = ast.parse(source, feature_version=OLDEST)
    imports: list[Imported] = []
    functions: list[Function] = []
    names: list[Name] = []
    texts: list[Text] = []
    top, typing_only = {id(node) for node in tree.body}, set[int]()
    fields, alone = dict[int, str](), set[int]()
    # From the outside in: what surrounds a node was seen before it.
    for node in ast.walk(tree):
        if type(node) not in _READ:
            continue  # Most nodes; the match would try all its cases.
        match node:
            case ast.Import() | ast.ImportFrom():
                imports.append(_imported(node, id(node) in typing_only, id(node) in top))
            case ast.If() if _is_for_types(node.test):
                typing_only.update(id(inner) for inner in ast.walk(node))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                functions.append(Function(node.lineno, node.name, lines))
                names.append(Name(node.lineno, node.name, ""))
            case ast.ClassDef():
                fields |= {
                    id(part.target): node.name for part in node.body if isinstance(part, ast.AnnAssign)
                }
                names.append(Name(node.lineno, node.name, ""))
            case ast.arg():
                names.append(Name(node.lineno, node.arg, ""))
            case ast.Name(ctx=ast.Store()):
                names.append(Name(node.lineno, node.id, fields.get(id(node), "")))
            case ast.Expr():
                alone.add(id(node.value))
            case ast.Constant(value=str(text)):
                texts.append(Text(node.lineno, text, id(node) in alone))
            case _:
                pass
    return Syntax(tuple(imports), tuple(functions), tuple(names), tuple(texts), ast.get_docstring(tree))


def _imported(node: ast.Import | ast.ImportFrom, only_types: bool, at_top: bool) -> Imported:
    names = tuple(alias.name for alias in node.names)
    if isinstance(node, ast.Import):
        return Imported(node.lineno, "", names, 0, True, only_types, at_top)
    return Imported(node.lineno, node.module or "", names, node.level, False, only_types, at_top)


def _is_for_types(test: ast.expr) -> bool:
    match test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(value=ast.Name(id="typing"), attr="TYPE_CHECKING"):
            return True
        case _:
            return False
