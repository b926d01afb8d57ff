"""Facts about code by a tree-sitter grammar; a file with errors still has a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from podium.context.extract.grammars import parser_of
from podium.context.extract.import_statements import imports_of
from podium.context.facts import Cut, Definition, FileFacts

if TYPE_CHECKING:
    from tree_sitter import Node

SHORT_BODY: Final = 2
MAX_USES: Final = 400
FAMILY: Final = {"tsx": "typescript"}
_EMPTY: Final = {"python": "..."}
_KINDS: Final = {
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "class_definition": "class",
    "struct_item": "class",
    "record_declaration": "class",
    "interface_declaration": "interface",
    "trait_item": "interface",
    "annotation_type_declaration": "interface",
    "type_alias_declaration": "type",
    "type_item": "type",
    "enum_declaration": "type",
    "enum_item": "type",
    "type_spec": "type",
    "variable_declarator": "value",
    "public_field_definition": "value",
    "field_declaration": "value",
    "const_spec": "value",
    "var_spec": "value",
    "const_item": "value",
    "static_item": "value",
}
_ABSTRACT: Final = frozenset({"interface", "type"})
_SCOPES: Final = frozenset(
    "class_declaration abstract_class_declaration class_definition interface_declaration enum_declaration "
    "record_declaration trait_item impl_item annotation_type_declaration".split()
)


def tree_sitter_facts(grammar: str, content: bytes) -> FileFacts | None:
    """None if the grammar is not installed."""
    from tree_sitter import QueryCursor

    tools = parser_of(grammar)
    if tools is None:
        return None
    parser, query = tools
    root = parser.parse(content).root_node
    captures: Mapping[str, Sequence[Node]] = QueryCursor(query).captures(root)
    language = FAMILY.get(grammar, grammar)
    imports, qualified = imports_of(language, captures.get("import", ()), root)
    definitions = sorted(captures.get("definition", ()), key=_position)
    has_exports = language in ("typescript", "javascript") and any(
        child.type == "export_statement" for child in root.children
    )
    cuts = [
        *_body_cuts(captures.get("body", ()), language),
        *_comment_cuts(sorted(captures.get("comment", ()), key=_position)),
        *_private_cuts(definitions, language, content, has_exports=has_exports),
    ]
    uses = {_text(node) for node in captures.get("use", ())} | qualified
    return FileFacts(
        language,
        package=_package(language, root),
        imports=tuple(imports),
        definitions=tuple(_definition(node, language, has_exports=has_exports) for node in definitions),
        cuts=tuple(sorted(cuts, key=lambda cut: (cut.start, -cut.end))),
        uses=tuple(sorted(uses - {""})[:MAX_USES]),
    )


def _position(node: Node) -> tuple[int, int]:
    return node.start_byte, -node.end_byte


def _text(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def _body_cuts(bodies: Iterable[Node], language: str) -> Iterator[Cut]:
    """All bodies; those of few lines are left out only where nothing but the public interface may be seen."""
    for body in bodies:
        is_short = body.end_point[0] - body.start_point[0] + 1 <= SHORT_BODY
        yield Cut(body.start_byte, body.end_byte, _EMPTY.get(language, "{ ... }"), private=is_short)


def _comment_cuts(comments: Sequence[Node]) -> Iterator[Cut]:
    """Leaves the first line with words of each comment; of a series of line comments, its first line."""
    last_line = -2
    for comment in comments:
        text = _text(comment)
        first, end = comment.start_point[0], comment.start_point[0] + text.rstrip("\n").count("\n")
        if end > first:
            yield Cut(comment.start_byte, comment.end_byte, _first_line(text))
        elif first == last_line + 1:
            yield Cut(comment.start_byte, comment.end_byte - text.endswith("\n"), "")
        last_line = end


def _first_line(comment: str) -> str:
    for line in comment.strip("/*! \n\t").splitlines():
        if words := line.strip("*/! \t"):
            return f"/** {words[:120]} */"
    return ""


def _private_cuts(
    definitions: Iterable[Node], language: str, content: bytes, *, has_exports: bool
) -> Iterator[Cut]:
    for node in definitions:
        if _is_public(node, language, has_exports=has_exports):
            continue
        whole = node
        while whole.parent is not None and whole.parent.type in (
            "type_declaration",
            "const_declaration",
            "var_declaration",
            "lexical_declaration",
            "decorated_definition",
        ):
            if whole.parent.named_child_count > 1 and whole.parent.type != "decorated_definition":
                break
            whole = whole.parent
        start = content.rfind(b"\n", 0, whole.start_byte) + 1
        end = content.find(b"\n", whole.end_byte)
        if content[start : whole.start_byte].strip():
            start = whole.start_byte
        tail = content[whole.end_byte : end if end >= 0 else len(content)].strip()
        stop = whole.end_byte if tail not in (b"", b";", b",") else (len(content) if end < 0 else end + 1)
        yield Cut(start, stop, "", private=True)


def _definition(node: Node, language: str, *, has_exports: bool) -> Definition:
    kind = _KINDS.get(node.type, "function")
    abstract = kind in _ABSTRACT or node.type == "abstract_class_declaration"
    if node.type == "type_spec":
        shape = node.child_by_field_name("type")
        abstract = shape is not None and shape.type == "interface_type"
    elif node.type == "class_declaration" and language == "java":
        abstract = "abstract" in _modifiers(node)
    return Definition(
        _scope(node) + _name(node),
        kind,
        node.start_point[0] + 1,
        _is_public(node, language, has_exports=has_exports),
        abstract,
    )


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    if name is None and node.type == "field_declaration":
        declarator = node.child_by_field_name("declarator")
        name = None if declarator is None else declarator.child_by_field_name("name")
    return _text(name)


def _scope(node: Node) -> str:
    names: list[str] = []
    above = node.parent
    while above is not None:
        if above.type in _SCOPES:
            names.append(_text(above.child_by_field_name("name") or above.child_by_field_name("type")))
        above = above.parent
    return "".join(f"{name}." for name in reversed(names))


def _modifiers(node: Node) -> list[str]:
    kinds = ("modifiers", "visibility_modifier", "accessibility_modifier")
    return " ".join(_text(child) for child in node.children if child.type in kinds).split()


def _is_public(node: Node, language: str, *, has_exports: bool) -> bool:
    name, parent = _name(node), node.parent
    match language:
        case "go":
            return name[:1].isupper()
        case "python":
            return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
        case "rust":
            is_member = parent is not None and parent.type == "declaration_list"
            owner = parent.parent if is_member and parent is not None else None
            of_trait = owner is not None and (
                owner.type == "trait_item" or owner.child_by_field_name("trait") is not None
            )
            return of_trait or any(word.startswith("pub") for word in _modifiers(node))
        case "java":
            return "private" not in _modifiers(node)
        case _:
            return _is_public_script(node, name, has_exports=has_exports)


def _is_public_script(node: Node, name: str, *, has_exports: bool) -> bool:
    if name.startswith("#") or "private" in _modifiers(node):
        return False
    above = node.parent
    if above is not None and above.type in ("lexical_declaration", "ambient_declaration"):
        above = above.parent
    return not has_exports or above is None or above.type != "program"


def _package(language: str, root: Node) -> str:
    kinds = {"java": "package_declaration", "go": "package_clause"}
    for child in root.children:
        if child.type == kinds.get(language):
            return _text(child).removeprefix("package").strip(" ;\n")
    return ""
