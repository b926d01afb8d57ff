"""Explains in plain words what a YAML parser could not read.

It knows the messages of both of PyYAML's parsers, libyaml's and the one in Python, which differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import yaml

from podium.fast_dataclass import dataclass

FLOW_SIGNS: Final = "? , : [ ] { }"


@dataclass(frozen=True, slots=True)
class Explanation:
    line: int
    col: int
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class YamlError:
    """The parser's message, the place of the error and the place where the enclosing part began."""

    text: str
    problem: str
    context: str
    at: Any
    began: Any

    @property
    def sign(self) -> str:
        return self.text[self.at.index : self.at.index + 1]

    @property
    def before(self) -> str:
        """The line up to the place of the error."""
        start = self.text.rfind("\n", 0, self.at.index) + 1
        return self.text[start : self.at.index]

    @property
    def at_end(self) -> bool:
        return not self.text[self.at.index :].strip()

    def explain_here(self, message: str, hint: str = "") -> Explanation:
        return Explanation(self.at.line + 1, self.at.column + 1, message, hint)

    def explain_start(self, message: str, hint: str = "") -> Explanation:
        return Explanation(self.began.line + 1, self.began.column + 1, message, hint)


def explain(error: yaml.YAMLError, text: str) -> Explanation:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        at = error.problem_mark
        began = error.context_mark or at
        fault = YamlError(text, str(error.problem), str(error.context or ""), at, began)
        for pattern, explain_error in _EXPLANATIONS:
            if re.search(pattern, f"{fault.context}: {fault.problem}"):
                return explain_error(fault)
        return fault.explain_here(fault.problem)
    return _bad_character(error, text)


def _bad_character(error: Any, text: str) -> Explanation:
    """Explains a character that YAML does not allow; the reader refuses it before parsing."""
    position = int(getattr(error, "position", 0))
    start = text.rfind("\n", 0, position) + 1
    code = ord(text[position]) if position < len(text) else 0
    return Explanation(
        text.count("\n", 0, position) + 1, position - start + 1, f"the character U+{code:04X} is not allowed"
    )


def _flow(fault: YamlError) -> Explanation:
    quotes = f"a value with one of {FLOW_SIGNS} needs quotes inside {{...}} and [...]"
    if fault.at_end:
        return _never_closed(fault)
    if fault.sign == "{" and fault.before.endswith("$"):
        return fault.explain_here('"${{ }}" needs quotes inside {...} and [...]')
    if fault.sign == ",":
        return fault.explain_here('a value is missing before ","', quotes)
    if fault.sign in "]}":
        return fault.explain_here(f'"{fault.sign}" does not match the last open bracket', quotes)
    if fault.began.line != fault.at.line:
        unclosed = f"the bracket opened in line {fault.began.line + 1} is not closed, or quotes are missing"
        return fault.explain_here(unclosed, quotes)
    return fault.explain_here(quotes, 'as in {human: "Land it?"}')


def _never_closed(fault: YamlError) -> Explanation:
    start = max(fault.text.rfind("["), fault.text.rfind("{"))
    line_start = fault.text.rfind("\n", 0, start) + 1
    line = fault.text.count("\n", 0, start) + 1
    return Explanation(line, start - line_start + 1, f'"{fault.text[start]}" is not closed')


def _mapping_value(fault: YamlError) -> Explanation:
    if re.search(r":\s", fault.before) or fault.before.rstrip().endswith(("]", '"', "'")):
        return fault.explain_here('a value with ": " needs quotes')
    hint = "give a key the same indentation as the other keys of its map"
    return fault.explain_here(
        "the line above already has a value, so this line cannot be nested below it", hint
    )


def _token(fault: YamlError) -> Explanation:
    if fault.sign == "\t":
        return _tab(fault)
    return fault.explain_here(f'a value that begins with "{fault.sign}" needs quotes')


def _tab(fault: YamlError) -> Explanation:
    return fault.explain_here("a tab cannot indent a line", "use spaces")


def _open_quote(fault: YamlError) -> Explanation:
    return fault.explain_start("this quote is never closed")


def _escape(fault: YamlError) -> Explanation:
    hint = "use '...', where a backslash has no special meaning, or write \\\\"
    return fault.explain_here('this backslash is not a valid escape inside "..."', hint)


def _alias(fault: YamlError) -> Explanation:
    sign = fault.text[fault.began.index : fault.began.index + 1]
    return fault.explain_start(f'a value that begins with "{sign}" needs quotes', 'as in "*.py"')


def _no_colon(fault: YamlError) -> Explanation:
    return fault.explain_start("this line is neither a key nor part of a value", 'write ": " after a key')


def _block(fault: YamlError) -> Explanation:
    if fault.sign in ("]", "}"):
        return fault.explain_here(f'"{fault.sign}" has no opening bracket')
    if re.search(r"""["']\s*$|["']\w*$""", fault.before):
        hint = "put the whole value in quotes; inside '...' a quote is written twice"
        return fault.explain_here("unexpected text after a closing quote", hint)
    return fault.explain_here("this line is not indented like the other lines of its block")


def _list_entry(fault: YamlError) -> Explanation:
    return fault.explain_here(
        "a list must begin on its own line", 'or write [a, b]; a value that begins with "-" needs quotes'
    )


def _block_scalar(fault: YamlError) -> Explanation:
    return fault.explain_here('after "|" or ">" the text must begin on the next line')


def _document_start(fault: YamlError) -> Explanation:
    return fault.explain_here("this line is not indented like the first line")


def _node(fault: YamlError) -> Explanation:
    return fault.explain_here(f'a value that begins with "{fault.sign}" needs quotes')


def _tag(fault: YamlError) -> Explanation:
    return fault.explain_start("tags are not allowed", 'a value that begins with "!" needs quotes')


# The first matching pattern decides; each is searched in "context: problem" as the parsers word them.
_EXPLANATIONS: Final[tuple[tuple[str, Callable[[YamlError], Explanation]], ...]] = (
    (r"tab character", _tab),
    (r"ing a tag\b|tag handle", _tag),
    (r"an alias|an anchor", _alias),
    (r"flow (sequence|mapping|node)", _flow),
    (r"mapping values are not allowed", _mapping_value),
    (r"cannot start any token|scanning a directive|directive name", _token),
    (r"quoted scalar: found unexpected end", _open_quote),
    (r"unknown escape|hexa?decimal", _escape),
    (r"could not find expected ':'", _no_colon),
    (r"sequence entries are not allowed", _list_entry),
    (r"block scalar", _block_scalar),
    (r"document start", _document_start),
    (r"node content", _node),
    (r"block mapping|block collection", _block),
)
