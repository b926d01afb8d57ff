"""Properties of all lint rules: valid files pass, each problem is reported once, checks are fast and documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podium.adapters.agents.registry import agent_types
from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis.control_flow import NEVER, Edge, Flow
from podium.workflow.lint.analysis.cycles import find_cycles
from podium.workflow.lint.check import CHECKS, check
from podium.workflow.load import Loaded, load
from podium.workflow.schema.parts import known_keys
from podium.workflow.schema.step import Step
from tests.timing import work_of, work_within
from tests.workflow.kit import EXAMPLES
from tools.mutate_files import project_in
from tools.pages.validation import RULES, rules_page

GOOD = sorted([*(EXAMPLES / "workflows").glob("*.yaml"), *(EXAMPLES / "templates").glob("*.yaml")])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project_in(tmp_path_factory.mktemp("examples"))


def loaded(path: Path, project: Path) -> Loaded:
    """Loads a workflow in a project that has every prompt file it names."""
    text = path.read_text("utf-8")
    for name in re.findall(r"prompts/[\w/]+\.md", text):
        (project / name).write_text("Do it.\n", "utf-8")
    copy = project / path.name
    copy.write_text(text, "utf-8")
    return load(copy, project=project, agent_types=agent_types())


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_every_example_of_the_language_has_no_problems(path: Path, project: Path) -> None:
    assert [problem.render() for problem in loaded(path, project).errors] == []


def test_the_largest_example_is_checked_within_its_work_bound(project: Path) -> None:
    """It takes about 30 ms; `bench/` measures the limit for `podium validate`."""
    context = loaded(EXAMPLES / "templates" / "security_critical.yaml", project).context
    assert context is not None

    with work_within(1):
        list(check(context))


def test_checking_a_long_file_takes_time_linear_in_its_length(tmp_path: Path) -> None:
    """Ten times the steps take about ten times the work, not a hundred times."""
    few, many = long_file(tmp_path / "few.yaml", 40), long_file(tmp_path / "many.yaml", 400)

    assert work_of(lambda: check_all(many)) < 40 * work_of(lambda: check_all(few))


def check_all(context: WorkflowSource) -> None:
    assert list(check(context)) == []


def long_file(path: Path, steps: int) -> WorkflowSource:
    """A block in which each step reads the one above and may go back."""
    lines = [
        f"  s{n}: {{run: [echo, '${{{{ steps.s{n - 1}.text }}}}'], on: {{failed: s{n - 1}}}}}"
        for n in range(1, steps)
    ]
    path.write_text("\n".join(["podium: 1", "steps:", "  s0: {run: make}", *lines]), "utf-8")
    context = load(path, project=path.parent, agent_types=agent_types()).context
    assert context is not None
    return context


def test_the_validation_page_has_every_rule_with_its_messages() -> None:
    page = rules_page()

    for rule in RULES:
        assert f"## {rule.number}. {rule.title}" in page
        assert all(f"- `{message}`" in page for message in rule.messages)
    assert page.count("(warning)") == sum(rule.warning for rule in RULES) == 6


def test_every_lint_rule_belongs_to_a_check() -> None:
    """The readers report 1 to 5, the templates 33, the other formats 43; 39 needs a known machine."""
    assert {rule for _, rules in CHECKS for rule in rules} == set(range(6, 49)) - {33, 39, 43}


def test_a_step_reached_by_a_jump_back_may_lack_skipped_steps() -> None:
    """0 -> 1 -> 2 -> 3; 0 may jump to 2, and 3 goes back to 1: then 1 has certainly run before 3 is read again."""
    flow = Flow(
        4,
        (
            (Edge(0, "passed", 1), Edge(0, "failed", 2)),
            (Edge(1, "passed", 2),),
            (Edge(2, "passed", 3),),
            (Edge(3, "passed", 4), Edge(3, "failed", 1)),
        ),
        (Edge(0, "failed", 2),),
    )

    assert flow.outcomes_at(3, 1) == {"passed", NEVER}
    assert flow.outcomes_at(3, 0) == {"passed", "failed"}
    assert flow.outcomes_at(1, 0) == {"passed", "failed"}
    assert flow.outcomes_at(3, 2) == {"passed"}


def test_each_cycle_is_found_once() -> None:
    edges = {"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": [], "e": ["e"], "f": ["d", "a"]}

    assert list(find_cycles(edges)) == [("b", "c"), ("e",)]


def test_every_text_key_of_a_step_is_classified() -> None:
    """A new key of the language must say what its texts are; keys without texts need no entry."""
    from podium.workflow.lint.analysis import text_fields

    placed = (
        text_fields.EXPRESSIONS
        | text_fields.TEMPLATES
        | text_fields.PLAIN
        | text_fields.PATHS
        | text_fields.NESTED_KEYS
        | text_fields.VALUE_KEYS
    )
    values = set(
        "run review by level model base output parallel max repeat retry git wait done env role agent team workspace sandbox".split()
    )
    others = set(
        "coverage must_fail_before baseline exit_codes pass min_score bar veto presence approvals remind escalate timeout continuity"
        " no_change estimate join limits recovery required memory".split()
    )

    assert set(known_keys(Step)) - placed - values - others == set()
