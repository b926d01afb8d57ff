"""Says in the words of a person what a YAML parser could not read.

Both of PyYAML's parsers are understood, libyaml's and the one in Python; they word the same fault differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import yaml

from podium.core.fast_dataclass import dataclass

FLOW_SIGNS: Final = "? , : [ ] { }"


@dataclass(frozen=True, slots=True)
class Explained:
    line: int
    col: int
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class YamlError:
    """What the parser said, with the place it stumbled over and the place where that part began."""

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
        """The line up to where the parser stumbled."""
        start = self.text.rfind("\n", 0, self.at.index) + 1
        return self.text[start : self.at.index]

    @property
    def at_end(self) -> bool:
        return not self.text[self.at.index :].strip()

    def here(self, message: str, hint: str = "") -> Explained:
        return Explained(self.at.line + 1, self.at.column + 1, message, hint)

    def there(self, message: str, hint: str = "") -> Explained:
        return Explained(self.began.line + 1, self.began.column + 1, message, hint)


def explain(error: yaml.YAMLError, text: str) -> Explained:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        at = error.problem_mark
        began = error.context_mark or at
        fault = YamlError(text, str(error.problem), str(error.context or ""), at, began)
        for pattern, say in _SAYINGS:
            if re.search(pattern, f"{fault.context}: {fault.problem}"):
                return say(fault)
        return fault.here(fault.problem)
    return _bad_character(error, text)


def _bad_character(error: Any, text: str) -> Explained:
    """The reader refuses a character before there is anything to parse."""
    position = int(getattr(error, "position", 0))
    start = text.rfind("\n", 0, position) + 1
    code = ord(text[position]) if position < len(text) else 0
    return Explained(
        text.count("\n", 0, position) + 1, position - start + 1, f"the character U+{code:04X} is not allowed"
    )


def _flow(fault: YamlError) -> Explained:
    quotes = f"a text with one of {FLOW_SIGNS} needs quotes inside {{...}} and [...]"
    if fault.at_end:
        return _never_closed(fault)
    if fault.sign == "{" and fault.before.endswith("$"):
        return fault.here('"${{ }}" needs quotes inside {...} and [...]')
    if fault.sign == ",":
        return fault.here('a value is missing before ","', quotes)
    if fault.sign in "]}":
        return fault.here(f'"{fault.sign}" does not close what was opened last', quotes)
    if fault.began.line != fault.at.line:
        opened = f"what was opened in line {fault.began.line + 1} is not closed, or quotes are missing"
        return fault.here(opened, quotes)
    return fault.here(quotes, 'as in {human: "Land it?"}')


def _never_closed(fault: YamlError) -> Explained:
    start = max(fault.text.rfind("["), fault.text.rfind("{"))
    line_start = fault.text.rfind("\n", 0, start) + 1
    line = fault.text.count("\n", 0, start) + 1
    return Explained(line, start - line_start + 1, f'"{fault.text[start]}" is not closed')


def _mapping_value(fault: YamlError) -> Explained:
    if re.search(r":\s", fault.before) or fault.before.rstrip().endswith(("]", '"', "'")):
        return fault.here('a text with ": " needs quotes')
    hint = "it is indented like a part of it; a key needs the same indentation as its neighbours"
    return fault.here("the line above has a value already, so nothing can stand below it", hint)


def _token(fault: YamlError) -> Explained:
    if fault.sign == "\t":
        return _tab(fault)
    return fault.here(f'a text that begins with "{fault.sign}" needs quotes')


def _tab(fault: YamlError) -> Explained:
    return fault.here("a tab cannot indent a line", "use spaces")


def _open_quote(fault: YamlError) -> Explained:
    return fault.there("this quote is never closed")


def _escape(fault: YamlError) -> Explained:
    hint = "use '...' instead, where a backslash is just that, or write \\\\"
    return fault.here('this backslash begins nothing that "..." knows', hint)


def _alias(fault: YamlError) -> Explained:
    sign = fault.text[fault.began.index : fault.began.index + 1]
    return fault.there(f'a text that begins with "{sign}" needs quotes', 'as in "*.py"')


def _no_colon(fault: YamlError) -> Explained:
    return fault.there("this line is neither a key nor part of a text", 'a key is followed by ": "')


def _block(fault: YamlError) -> Explained:
    if fault.sign in ("]", "}"):
        return fault.here(f'"{fault.sign}" closes nothing')
    if re.search(r"""["']\s*$|["']\w*$""", fault.before):
        hint = "put the whole value in quotes; inside '...' a quote is written twice"
        return fault.here("something follows a closing quote", hint)
    return fault.here("this line is not indented like the lines it belongs to")


def _list_entry(fault: YamlError) -> Explained:
    return fault.here(
        "a list begins on a line of its own", 'or write [a, b]; a text that begins with "-" needs quotes'
    )


def _block_scalar(fault: YamlError) -> Explained:
    return fault.here('after "|" or ">" the text begins on the next line')


def _document_start(fault: YamlError) -> Explained:
    return fault.here("this line is not indented like the first one")


def _node(fault: YamlError) -> Explained:
    return fault.here(f'a text that begins with "{fault.sign}" needs quotes')


def _tag(fault: YamlError) -> Explained:
    return fault.there("tags are not allowed", 'a text that begins with "!" needs quotes')


# The first that fits; each looks at "context: problem" as the parsers word them.
_SAYINGS: Final[tuple[tuple[str, Callable[[YamlError], Explained]], ...]] = (
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
