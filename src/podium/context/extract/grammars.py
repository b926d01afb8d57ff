"""The grammars of the extra `context`: which package parses a language, and which of its nodes matter.

Captures: `import`, `body` (of a function), `definition`, `comment`, `use` (a name of a type or function it mentions).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from podium.fast_dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Parser, Query


@dataclass(frozen=True, slots=True)
class Grammar:
    package: str
    query: str


_SCRIPT: Final = """
(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: (identifier) @_f (#eq? @_f "require")) @import
(call_expression function: (import)) @import
(function_declaration body: (_) @body)
(generator_function_declaration body: (_) @body)
(function_expression body: (_) @body)
(method_definition body: (_) @body)
(arrow_function body: (statement_block) @body)
(function_declaration) @definition
(generator_function_declaration) @definition
(class_declaration) @definition
(method_definition) @definition
(program (lexical_declaration (variable_declarator) @definition))
(program (export_statement (lexical_declaration (variable_declarator) @definition)))
(comment) @comment
(identifier) @use
"""
_TYPED: Final = """
(abstract_class_declaration) @definition
(interface_declaration) @definition
(type_alias_declaration) @definition
(enum_declaration) @definition
(public_field_definition) @definition
(function_signature) @definition
(type_identifier) @use
"""
_PYTHON: Final = """
(import_statement) @import
(import_from_statement) @import
(function_definition body: (block) @body)
(function_definition) @definition
(class_definition) @definition
(identifier) @use
"""
_GO: Final = """
(import_spec) @import
(function_declaration body: (block) @body)
(method_declaration body: (block) @body)
(func_literal body: (block) @body)
(function_declaration) @definition
(method_declaration) @definition
(type_spec) @definition
(const_spec) @definition
(var_spec) @definition
(comment) @comment
(identifier) @use
(type_identifier) @use
(field_identifier) @use
"""
_RUST: Final = """
(use_declaration) @import
(mod_item) @import
(extern_crate_declaration) @import
(function_item body: (block) @body)
(function_item) @definition
(struct_item) @definition
(enum_item) @definition
(trait_item) @definition
(type_item) @definition
(const_item) @definition
(static_item) @definition
(macro_definition) @definition
(line_comment) @comment
(block_comment) @comment
(identifier) @use
(type_identifier) @use
"""
_JAVA: Final = """
(import_declaration) @import
(method_declaration body: (block) @body)
(constructor_declaration body: (constructor_body) @body)
(lambda_expression body: (block) @body)
(static_initializer (block) @body)
(class_declaration) @definition
(interface_declaration) @definition
(enum_declaration) @definition
(record_declaration) @definition
(annotation_type_declaration) @definition
(method_declaration) @definition
(constructor_declaration) @definition
(field_declaration) @definition
(line_comment) @comment
(block_comment) @comment
(identifier) @use
(type_identifier) @use
"""

GRAMMARS: Final = {
    "python": Grammar("tree_sitter_python", _PYTHON),
    "javascript": Grammar("tree_sitter_javascript", _SCRIPT),
    "typescript": Grammar("tree_sitter_typescript", _SCRIPT + _TYPED),
    "tsx": Grammar("tree_sitter_typescript", _SCRIPT + _TYPED),
    "go": Grammar("tree_sitter_go", _GO),
    "rust": Grammar("tree_sitter_rust", _RUST),
    "java": Grammar("tree_sitter_java", _JAVA),
}


@cache
def parser_of(name: str) -> tuple[Parser, Query] | None:
    """The parser and the query of a grammar; None without the packages of the extra."""
    try:
        from tree_sitter import Language, Parser, Query

        language = Language(_pointer(name))
    except ImportError:
        return None
    return Parser(language), Query(language, GRAMMARS[name].query)


def _pointer(name: str) -> object:
    """The grammar of a language as its package gives it; raises ImportError without it."""
    match name:
        case "python":
            import tree_sitter_python

            return tree_sitter_python.language()
        case "javascript":
            import tree_sitter_javascript

            return tree_sitter_javascript.language()
        case "typescript" | "tsx":
            import tree_sitter_typescript

            is_plain = name == "typescript"
            return (
                tree_sitter_typescript.language_typescript()
                if is_plain
                else tree_sitter_typescript.language_tsx()
            )
        case "go":
            import tree_sitter_go

            return tree_sitter_go.language()
        case "rust":
            import tree_sitter_rust

            return tree_sitter_rust.language()
        case _:
            import tree_sitter_java

            return tree_sitter_java.language()
