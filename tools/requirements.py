"""Prints which tests show which requirement, and the requirements that no test cites yet.

A test cites an id in its name (test_r146_...), in its docstring, or by @pytest.mark.req("R146"); what stands on
its class counts too. The ids and what they mean are in docs/reference/requirements.md; to cite another is a fault.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

REGISTER = Path("docs/reference/requirements.md")
ID = r"R\d{3}|X\d{1,2}|C\d{1,2}"
ANCHOR = re.compile(rf'<a id="({ID})">')
IN_TEXT = re.compile(rf"\b(?:{ID})\b")
IN_NAME = re.compile(rf"(?<=_)(?:{ID})(?=_|$)", re.IGNORECASE)

Test: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Cited: TypeAlias = Mapping[str, Sequence[str]]
"""Id -> the tests that cite it, as file::name."""


def main(root: Path) -> int:
    known = ANCHOR.findall((root / REGISTER).read_text("utf-8"))
    cited = citations(root)
    show(known, cited)
    unknown = {name: tests for name, tests in cited.items() if name not in known}
    for name, tests in sorted(unknown.items()):
        print(f"{name} is not in {REGISTER}; cited by {', '.join(tests)}", file=sys.stderr)
    return 1 if unknown else 0


def citations(root: Path) -> Cited:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"), str(path))
        for name, ids in each_test(tree.body):
            for cited in sorted(ids):
                found[cited].append(f"{path.relative_to(root)}::{name}")
    return found


def each_test(
    body: Sequence[ast.stmt], outer: frozenset[str] = frozenset()
) -> Iterator[tuple[str, frozenset[str]]]:
    """Each test with the ids that it, or the class around it, cites."""
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for name, ids in each_test(node.body, outer | noted(node)):
                yield f"{node.name}::{name}", ids
        elif isinstance(node, Test) and node.name.startswith("test_"):
            named = {match.upper() for match in IN_NAME.findall(node.name)}
            yield node.name, outer | noted(node) | named


def noted(node: Test | ast.ClassDef) -> frozenset[str]:
    marked = (text for decorator in node.decorator_list for text in marked_ids(decorator))
    return frozenset([*IN_TEXT.findall(ast.get_docstring(node) or ""), *marked])


def marked_ids(decorator: ast.expr) -> Iterator[str]:
    """The arguments of `req(...)`, also where it is the mark of one row: pytest.param(..., marks=...)."""
    for node in ast.walk(decorator):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "req":
            yield from (str(word.value) for word in node.args if isinstance(word, ast.Constant))


def show(known: Sequence[str], cited: Cited) -> None:
    for name in known:
        for place, test in enumerate(cited.get(name, ())):
            print(f"{name if place == 0 else '':5} {test}")
    print()
    bare = [name for name in known if name not in cited]
    print(textwrap.fill(f"without a test: {', '.join(bare) or 'none'}", 100, subsequent_indent="  "))
    print(f"{len(known)} requirements, {len(known) - len(bare)} with a test, {len(bare)} without")


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parents[1]))
