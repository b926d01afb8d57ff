"""The imports of a file from the nodes of its import statements, by language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from podium.context.facts import ImportFact, ImportKind

if TYPE_CHECKING:
    from tree_sitter import Node

_STRING: Final = re.compile(r"""['"`]([^'"`\n]*)['"`]""")
_FUNCTIONS: Final = frozenset(
    "function_declaration function_expression arrow_function method_definition function_definition".split()
)


def imports_of(language: str, nodes: Iterable[Node], root: Node) -> tuple[list[ImportFact], set[str]]:
    """The imports in the order of their lines, and the names that a Go file takes from each package."""
    statements = sorted(nodes, key=lambda node: node.start_byte)
    match language:
        case "python":
            return [fact for node in statements for fact in _python(node)], set()
        case "go":
            return _go(statements, root)
        case "rust":
            return [fact for node in statements for fact in _rust(node)], set()
        case "java":
            return [_java(node) for node in statements], set()
        case _:
            return [fact for node in statements for fact in _script(node)], set()


def _text(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def _line(node: Node) -> int:
    return node.start_point[0] + 1


def _is_lazy(node: Node) -> bool:
    above = node.parent
    while above is not None:
        if above.type in _FUNCTIONS:
            return True
        above = above.parent
    return False


def _script(node: Node) -> Iterator[ImportFact]:
    if node.type == "call_expression":
        arguments = _text(node.child_by_field_name("arguments"))
        literal = _STRING.match(arguments.lstrip("( \n\t"))
        if literal:
            is_dynamic = _text(node.child_by_field_name("function")) == "import"
            kind: ImportKind = "lazy" if is_dynamic or _is_lazy(node) else "load"
            yield ImportFact(literal[1], (), _line(node), kind)
        return
    source = _text(node.child_by_field_name("source")).strip("'\"`")
    text = _text(node)
    if not source:
        literal = _STRING.search(text)  # import x = require("y")
        source = literal[1] if literal else ""
    if source:
        words = text.split(None, 2)
        is_types = len(words) > 1 and words[1] == "type"
        kind = "export" if node.type == "export_statement" else "types" if is_types else "load"
        yield ImportFact(source, tuple(dict.fromkeys(_script_names(node))), _line(node), kind)


def _script_names(node: Node) -> Iterator[str]:
    todo = [child for child in node.children if child.is_named]
    if node.type == "export_statement" and any(child.type == "*" for child in node.children):
        yield "*"
    while todo:
        each = todo.pop(0)
        if each.type in ("import_specifier", "export_specifier"):
            yield _text(each.child_by_field_name("name"))
        elif each.type in ("namespace_import", "namespace_export"):
            yield "*"
        elif each.type == "identifier":
            yield "default"
        elif each.type in ("import_clause", "named_imports", "export_clause"):
            todo = [*(child for child in each.children if child.is_named), *todo]


def _python(node: Node) -> Iterator[ImportFact]:
    kind: ImportKind = "lazy" if _is_lazy(node) else "load"
    if node.type == "import_statement":
        for child in node.children_by_field_name("name"):
            named = child.child_by_field_name("name") if child.type == "aliased_import" else child
            yield ImportFact(_text(named), (), _line(node), kind)
        return
    module = _text(node.child_by_field_name("module_name")).replace(" ", "")
    names = [
        _text(child.child_by_field_name("name") if child.type == "aliased_import" else child)
        for child in node.children_by_field_name("name")
    ]
    if any(child.type == "wildcard_import" for child in node.children):
        names.append("*")
    yield ImportFact(module, tuple(names), _line(node), kind)


def _go(statements: Iterable[Node], root: Node) -> tuple[list[ImportFact], set[str]]:
    """Each import with the names that the file uses of it, because a Go package is a whole folder."""
    used: dict[str, dict[str, None]] = {}
    todo = [root]
    while todo:
        node = todo.pop()
        if node.type in ("selector_expression", "qualified_type"):
            owner = node.child_by_field_name("operand") or node.child_by_field_name("package")
            name = node.child_by_field_name("field") or node.child_by_field_name("name")
            if owner is not None and owner.type in ("identifier", "package_identifier"):
                used.setdefault(_text(owner), {})[_text(name)] = None
        todo.extend(reversed(node.children))
    facts: list[ImportFact] = []
    for node in statements:
        path = _text(node.child_by_field_name("path")).strip('"`')
        alias = _text(node.child_by_field_name("name"))
        if alias in (".", "_"):
            names: tuple[str, ...] = ("*",) if alias == "." else ()
        else:
            names = tuple(used.get(alias or _go_name(path), ()))
        facts.append(ImportFact(path, names, _line(node)))
    return facts, set()


def _go_name(path: str) -> str:
    """The usual name of a package: the last part of its path that is not a version."""
    parts = path.split("/")
    last = parts[-2] if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]) else parts[-1]
    return last.split(".")[0].removeprefix("go-").replace("-", "")


def _rust(node: Node) -> Iterator[ImportFact]:
    if node.type == "mod_item":
        if node.child_by_field_name("body") is None:
            yield ImportFact(f"mod {_text(node.child_by_field_name('name'))}", (), _line(node))
        return
    if node.type == "extern_crate_declaration":
        yield ImportFact(_text(node.child_by_field_name("name")), (), _line(node))
        return
    is_export = any(child.type == "visibility_modifier" for child in node.children)
    argument = node.child_by_field_name("argument")
    for path in () if argument is None else _use_paths(argument, ""):
        module, _, name = path.rpartition("::")
        names = (name,) if module else ()
        yield ImportFact(module or name, names, _line(node), "export" if is_export else "load")


def _use_paths(node: Node, prefix: str) -> Iterator[str]:
    """The paths of a tree of uses: `a::{b, c::*}` has two."""
    match node.type:
        case "scoped_use_list":
            head = prefix + _text(node.child_by_field_name("path")) + "::"
            yield from _each_use(node.child_by_field_name("list"), head)
        case "use_list":
            yield from _each_use(node, prefix)
        case "use_as_clause":
            yield prefix + _text(node.child_by_field_name("path"))
        case "use_wildcard":
            yield prefix + _text(node).replace(" ", "")
        case "self" if prefix:
            yield prefix.removesuffix("::")
        case _:
            yield prefix + _text(node)


def _each_use(node: Node | None, prefix: str) -> Iterator[str]:
    for child in () if node is None else node.named_children:
        if "comment" not in child.type:
            yield from _use_paths(child, prefix)


def _java(node: Node) -> ImportFact:
    words = _text(node).rstrip("; \n").split()
    is_static = "static" in words[1:2]
    path = "".join(words[2:] if is_static else words[1:])
    module, _, name = path.rpartition(".")
    if is_static:
        # The member of a class: the class is what is imported.
        package, _, owner = module.rpartition(".")
        return ImportFact(package, (owner,), _line(node))
    return ImportFact(module, (name,), _line(node))
