"""Prints which tests show which requirement, and the requirements that no test cites yet.

A test shows a requirement in a real run if it starts a run with the `podium` command; other tests only cite it. A test cites an id in its name (test_r146_...), in its docstring, or by @pytest.mark.req("R146"); what stands on
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

COMMAND_FOLDERS = ("tests/e2e/", "tests/crash/", "tests/live/")
"""Their kits start the command as a process."""
STARTS_COMMAND = re.compile(r'\bCliRunner\b|"-m", "podium"')
STARTS_RUN = frozenset({"run", "resume", "rerun", "demo", "test", "take", "run-step", "serve", "apply"})
OPEN_ISSUES: Mapping[str, str] = {
    "16, promises": "R089",
    "17, terminal": "R064 R146 R190 R213 R226 R239 C11",
    "19, people": "R190 R191 R195 R196 R197 R220 C28 C33 C47",
    "21, context": "R084 R085 R086 R087 R088 R125 R171 C37",
    "22, teams": "R202 R203 R205 R230 R232 R233 R247 C45",
    "23, Temporal": "R234",
    "24, record": "R216 R217 R218 R219 R221 R222 R223 R224 R229 R233 C1",
}
"""Requirements of which an audit at 627f720 found something missing that another open issue asks for."""

Test: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Cited: TypeAlias = Mapping[str, Sequence[str]]
"""Id -> the tests that cite it, as file::name."""


def main(root: Path) -> int:
    known = ANCHOR.findall((root / REGISTER).read_text("utf-8"))
    cited = citations(root)
    show(known, cited, shown_by_command(root))
    unknown = {name: tests for name, tests in cited.items() if name not in known}
    for name, tests in sorted(unknown.items()):
        print(f"{name} is not in {REGISTER}; cited by {', '.join(tests)}", file=sys.stderr)
    return 1 if unknown else 0


def citations(root: Path) -> Cited:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"), str(path))
        for name, ids in each_test(tree.body, module_ids(tree)):
            for cited in sorted(ids):
                found[cited].append(f"{path.relative_to(root)}::{name}")
    return found


def module_ids(tree: ast.Module) -> frozenset[str]:
    """The ids in `pytestmark`, which count for every test of the module."""
    marks = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(getattr(each, "id", "") == "pytestmark" for each in node.targets)
    )
    return frozenset(cited for mark in marks for cited in marked_ids(mark))


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


def shown_by_command(root: Path) -> frozenset[str]:
    """The tests that start a run with the command, as file::name."""
    shown = set()
    for path in sorted((root / "tests").rglob("test_*.py")):
        name = path.relative_to(root).as_posix()
        text = path.read_text("utf-8")
        tree = ast.parse(text, str(path))
        starters = command_names(root, tree)
        for test, node in named_tests(tree.body):
            words = reached_words(tree, node)
            starts_command = name.startswith(COMMAND_FOLDERS) or bool(words & starters)
            if starts_command and (name.startswith(COMMAND_FOLDERS) or words & STARTS_RUN):
                shown.add(f"{name}::{test}")
    return frozenset(shown)


def command_names(root: Path, tree: ast.Module) -> frozenset[str]:
    """Names in a module that start the command: its own, and those of helper modules that do."""
    names = {"CliRunner"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            helper = root / f"{(node.module or '').replace('.', '/')}.py"
            if helper.is_file() and STARTS_COMMAND.search(helper.read_text("utf-8")):
                names |= {alias.asname or alias.name for alias in node.names}
    return frozenset(names)


def named_tests(body: Sequence[ast.stmt]) -> Iterator[tuple[str, Test]]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from ((f"{node.name}::{name}", test) for name, test in named_tests(node.body))
        elif isinstance(node, Test) and node.name.startswith("test_"):
            yield node.name, node


def reached_words(tree: ast.Module, test: Test) -> frozenset[str]:
    """The names and texts in a test and in the helpers and fixtures of its module that it uses."""
    helpers = {node.name: node for node in tree.body if isinstance(node, Test | ast.ClassDef)}
    words: set[str] = set()
    waiting: list[ast.AST] = [test]
    while waiting:
        for node in ast.walk(waiting.pop()):
            word = _word(node)
            if word is not None and word not in words:
                words.add(word)
                waiting += [helpers[word]] if word in helpers else []
    return frozenset(words)


def _word(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=str(text)):
            return text
        case _:
            return None


def show(known: Sequence[str], cited: Cited, by_command: frozenset[str]) -> None:
    """`run` marks a test that shows the requirement in a real run."""
    for name in known:
        for place, test in enumerate(cited.get(name, ())):
            print(f"{name if place == 0 else '':5} {'run' if test in by_command else '':3} {test}")
    print()
    shown = [name for name in known if by_command & set(cited.get(name, ()))]
    only_cited = [name for name in known if name in cited and name not in shown]
    bare = [name for name in known if name not in cited]
    _list("only cited by tests without a real run", only_cited)
    _list("without a test", bare)
    for issue, ids in OPEN_ISSUES.items():
        _list(f"issue {issue}", [name for name in ids.split() if name in known])
    print(
        f"{len(known)} requirements, {len(shown)} shown in a real run through the command line, "
        f"{len(only_cited)} only cited, {len(bare)} without a test"
    )


def _list(title: str, names: Sequence[str]) -> None:
    print(textwrap.fill(f"{title}: {', '.join(names) or 'none'}", 100, subsequent_indent="  "))


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parents[1]))
