"""The gate that enforces what `config` of a step or a role demands of tests.

tdd                        the new tests fail on the code before the work, and pass on the work
coverage, unit_test_coverage   this share of the lines is covered
min_tests_per_component    the work adds so many tests
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from podium.workflow.dialects.translation import filled, needs_shell, new_node
from podium.workflow.source.nodes import Node, text

NAME: Final = "proof"
DEFAULT_COMMAND: Final = "make test"
COVERAGE_REPORT: Final = "coverage.xml"
TEST_REPORT: Final = "report.xml"
_TESTS: Final = re.compile(r"\b(?:py)?test")
_PYTEST: Final = re.compile(r"\bpytest\b")


def command_of_tests(commands: Iterable[Node | None]) -> str:
    """The first command of a file that runs tests."""
    texts = (text(command) or "" for command in commands)
    return next(
        (each for each in texts if "\n" not in each and not needs_shell(each) and _TESTS.search(each)),
        DEFAULT_COMMAND,
    )


def proof_gate(config: Mapping[str, Node], command: str) -> Node | None:
    """None if the configuration demands nothing of tests. Other commands than pytest have to write the reports themselves."""
    is_first = "tdd" in config and config["tdd"].value is True
    share = config.get("coverage", config.get("unit_test_coverage"))
    has_share = share is not None and bool(share.value)
    least = config.get("min_tests_per_component")
    demanded = [node for node in (config.get("tdd") if is_first else None, share, least) if node is not None]
    if not (is_first or has_share or least is not None):
        return None
    is_pytest = bool(_PYTEST.search(command))
    if is_pytest and has_share:
        command += f" --cov --cov-report=xml:{COVERAGE_REPORT}"
    if is_pytest and least is not None:
        command += f" --junitxml={TEST_REPORT}"
    gate: dict[str, Any] = {
        "name": NAME,
        "run": command,
        "must_fail_before": is_first or None,
        "coverage": {"report": COVERAGE_REPORT, "min": share} if has_share else None,
        "junit": None if least is None else TEST_REPORT,
        "tests": None if least is None else {"min_new": least},
    }
    return new_node(filled(gate), demanded[0])
