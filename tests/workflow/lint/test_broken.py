"""Every validation rule, with a file that breaks it and files that nearly do.

The first lines of a file say what must be reported: `# expect: LINE RULE "part of the message"`, or `# expect: none`.
`# inputs:` and `# sandbox:` are passed to the loader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.adapters.agents.registry import agent_types
from podium.workflow.lint.check import check
from podium.workflow.load import load
from podium.workflow.problems import Problem
from tools.pages.validation import RULES

BROKEN = Path(__file__).parent / "broken"
FILES = sorted(BROKEN.glob("*.yaml"))
EXPECT = re.compile(
    r"""# expect: (?:(?P<file>[^: ]+):)?(?P<line>\d+)(?::(?P<col>\d+))? (?P<rule>\d+) "(?P<part>.*)"$"""
)


@dataclass(frozen=True, slots=True)
class Expected:
    file: str
    line: int
    rule: int
    part: str
    col: int | None = None


def expected_in(path: Path) -> list[Expected]:
    actual = []
    for line in path.read_text("utf-8").splitlines():
        match = EXPECT.match(line)
        if match is not None:
            part = match["part"].replace('\\"', '"')
            col = int(match["col"]) if match["col"] else None
            actual.append(
                Expected(match["file"] or path.name, int(match["line"]), int(match["rule"]), part, col)
            )
    return actual


def header(path: Path, word: str) -> Any:
    """A header of the file, read as YAML."""
    match = re.search(rf"^# {word}: (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return yaml.safe_load(match[1]) if match is not None else None


def problems_of(path: Path) -> tuple[Problem, ...]:
    loaded = load(path, project=BROKEN, inputs=header(path, "inputs"), agent_types=agent_types())
    level = header(path, "sandbox")
    if level is None or loaded.context is None:
        return loaded.problems
    return (*loaded.problems, *check(loaded.context, sandbox=level))


@pytest.mark.req("R030", "R045")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_broken_file_is_reported_with_rule_line_and_message(path: Path) -> None:
    expected = expected_in(path)
    actual = {
        (str(Path(problem.file).relative_to(BROKEN)), problem.line, problem.rule, problem.message): problem
        for problem in problems_of(path)
    }
    report = "\n".join(problem.render() for problem in actual.values())

    assert expected or "# expect: none" in path.read_text("utf-8")
    assert sorted(key[:3] for key in actual) == sorted(
        (expectation.file, expectation.line, expectation.rule) for expectation in expected
    ), report
    for expectation in expected:
        matching = [
            problem
            for key, problem in actual.items()
            if key[:3] == (expectation.file, expectation.line, expectation.rule)
            and expectation.part in problem.message
        ]
        assert matching, f"no message contains {expectation.part!r}:\n{report}"
        assert expectation.col is None or expectation.col in {hit.col for hit in matching}


def test_every_rule_has_a_broken_file() -> None:
    tested = {expectation.rule for path in FILES for expectation in expected_in(path)}

    assert tested == {rule.number for rule in RULES}


def test_the_table_has_every_rule_once() -> None:
    assert [rule.number for rule in RULES] == list(range(1, 49))
