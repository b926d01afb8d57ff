"""Facts about Python by the parser of the interpreter.

It raises SyntaxError for syntax that is newer than the interpreter, which need not be the one the project is written for.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Final, TypeAlias

from podium.context.facts import Cut, Definition, FileFacts, ImportFact, ImportKind

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
SHORT_BODY: Final = 2
"""Lines of a body that is not worth cutting."""
LONG_VALUE: Final = 8
"""Lines of a constant that is cut."""
MAX_DOC: Final = 120
MAX_USES: Final = 400
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_ABSTRACT: Final = frozenset({"ABC", "Protocol", "TypedDict", "NamedTuple", "Enum", "ABCMeta"})


def python_facts(content: bytes) -> FileFacts:
    """Raises SyntaxError, ValueError, RecursionError or MemoryError for what cannot be parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(content)
    reader = _Reader(content)
    reader.read_block(tree.body, top=True)
    _cut_doc(reader, tree)
    exported = _exported(tree)
    definitions = (
        one
        if exported is None or "." in one.name
        else Definition(one.name, one.kind, one.line, one.name in exported, one.abstract)
        for one in reader.definitions
    )
    uses = dict.fromkeys(
        name for node in ast.walk(tree) if (name := _used_name(node)) and not name.startswith("__")
    )
    return FileFacts(
        "python",
        imports=tuple(_imports(tree)),
        definitions=tuple(definitions),
        cuts=tuple(reader.cuts),
        uses=tuple(sorted(uses)[:MAX_USES]),
    )


class _Reader:
    """Collects definitions and cuts; positions of the parser are in bytes of a line."""

    def __init__(self, content: bytes) -> None:
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(content))]
        self.size = len(content)
        self.content = content
        self.definitions: list[Definition] = []
        self.cuts: list[Cut] = []
        self._bom = 3 if content.startswith(b"\xef\xbb\xbf") else 0

    def at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column + (self._bom if line == 1 else 0)

    def line_start(self, line: int) -> int:
        return self._starts[min(line, len(self._starts)) - 1] if line <= len(self._starts) else self.size

    def read_block(self, body: list[ast.stmt], *, top: bool, scope: str = "") -> None:
        for node in body:
            self._read(node, top=top, scope=scope)

    def _read(self, node: ast.stmt, *, top: bool, scope: str) -> None:
        if isinstance(node, FUNCTIONS):
            self._define(node.name, "function", node, scope)
            self._cut_body(node)
        elif isinstance(node, ast.ClassDef):
            bases = {_last_name(base) for base in (*node.bases, *(word.value for word in node.keywords))}
            abstract = bool(bases & _ABSTRACT)
            self._define(node.name, "class", node, scope, abstract=abstract)
            _cut_doc(self, node)
            self.read_block(node.body, top=False, scope=f"{scope}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try, ast.With)) and top:
            for block in (node.body, getattr(node, "orelse", []), getattr(node, "finalbody", [])):
                self.read_block(block, top=True, scope=scope)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            self._assigned(node, scope)

    def _assigned(self, node: ast.Assign | ast.AnnAssign, scope: str) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                self._define(target.id, "value", node, scope)
        value = node.value
        if value is not None and _lines(value) > LONG_VALUE:
            start = self.at(value.lineno, value.col_offset)
            self.cuts.append(Cut(start, self.at(value.end_lineno or 0, value.end_col_offset or 0), "..."))

    def _define(self, name: str, kind: str, node: ast.stmt, scope: str, *, abstract: bool = False) -> None:
        public = not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
        self.definitions.append(Definition(f"{scope}{name}", kind, node.lineno, public, abstract))
        if not public:
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(one.lineno for one in decorators)])
            start, end = self.line_start(first), self.line_start((node.end_lineno or node.lineno) + 1)
            self.cuts.append(Cut(start, end, "", private=True))

    def _cut_body(self, node: Function) -> None:
        is_short = _lines(node.body[-1], since=node.body[0]) <= SHORT_BODY
        doc = _doc_line(node)
        indent = " " * node.body[0].col_offset
        text = f'"""{doc}"""\n{indent}...' if doc else "..."
        first, last = node.body[0], node.body[-1]
        # A decorated definition begins with its decorators.
        line = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])
        start = self.at(first.lineno, first.col_offset)
        if line != first.lineno:
            start = self.line_start(line) + first.col_offset
        end = self.at(last.end_lineno or 0, last.end_col_offset or 0)
        self.cuts.append(Cut(start, end, text, private=is_short))


def _cut_doc(reader: _Reader, node: ast.Module | ast.ClassDef) -> None:
    doc = _doc_line(node)
    if not doc:
        return
    text = node.body[0]
    if _lines(text) > 1:
        start = reader.at(text.lineno, text.col_offset)
        reader.cuts.append(
            Cut(start, reader.at(text.end_lineno or 0, text.end_col_offset or 0), f'"""{doc}"""')
        )


def _doc_line(node: ast.Module | ast.ClassDef | Function) -> str:
    doc = ast.get_docstring(node) or ""
    line = doc.strip().partition("\n")[0][:MAX_DOC].rstrip()
    return line.replace("\\", "/").replace('"', "'")


def _lines(node: ast.stmt | ast.expr, since: ast.stmt | None = None) -> int:
    return (node.end_lineno or 0) - (since or node).lineno + 1


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _used_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _exported(tree: ast.Module) -> frozenset[str] | None:
    """The names of `__all__`, if it is a plain list."""
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, (ast.List, ast.Tuple)):
            continue
        if any(_last_name(target) == "__all__" for target in node.targets):
            values = [item.value for item in node.value.elts if isinstance(item, ast.Constant)]
            return frozenset(str(value) for value in values)
    return None


def _imports(tree: ast.Module) -> Iterator[ImportFact]:
    todo: list[tuple[ast.AST, ImportKind]] = [(tree, "load")]
    while todo:
        node, kind = todo.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield ImportFact(alias.name, (), node.lineno, kind)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield ImportFact(module, tuple(alias.name for alias in node.names), node.lineno, kind)
        elif isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
            todo.extend((child, "types") for child in reversed(node.body))
            todo.extend((child, kind) for child in reversed(node.orelse))
        else:
            inner: ImportKind = "lazy" if isinstance(node, FUNCTIONS) and kind == "load" else kind
            children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
            todo.extend((child, inner) for child in reversed(children))
