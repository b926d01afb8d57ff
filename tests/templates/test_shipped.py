"""Every shipped template is valid, resolves to itself, describes itself, and ends in every simulated world."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import check, open_workflow, resolved
from podium.app.forecast.simulate import forecast, rehearse
from podium.workflow.source.files import SHIPPED, read_tree
from podium.workflow.source.nodes import plain
from podium.workflow.source.yaml import load
from tests.templates.kit import TEMPLATES, inputs_of

LUCK = {
    "open_source": "- {match: {step: implement}, write: {CHANGELOG.md: New.}}\n",
    "scan_fix_verify": "- {match: {step: verify}, output: []}\n",
}
"""Facts that a random world cannot draw: a changed changelog, a scanner that finds nothing more."""


@pytest.fixture(params=TEMPLATES)
def template(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(template: str, tmp_path: Path) -> Path:
    path = tmp_path / "flow.yaml"
    path.write_text(f"podium: 1\nname: mine\nextends: {template}\n", "utf-8")
    return path


@pytest.mark.req("R033")
def test_the_documented_templates_and_common_patterns_are_shipped() -> None:
    families = {"base", "mvp", "enterprise", "open_source", "security_critical", "with_test_engineer"}
    patterns = {"review_loop", "panel", "scan_fix_verify", "migrate_each_file", "fix_failing_ci"}

    assert set(TEMPLATES) == families | patterns


def test_a_template_has_no_problem_and_no_warning(file: Path) -> None:
    assert [problem.render() for problem in check(file).problems] == []


def test_a_template_describes_itself_and_its_inputs(template: str) -> None:
    node = read_tree(SHIPPED / "templates" / f"{template}.yaml", None).node
    assert node is not None
    document = plain(node)

    assert document["name"] == template
    assert len(document["description"]) > 20
    for name, known in document.get("inputs", {}).items():
        inherited = set(known) == {"default"}
        assert inherited or known["help"], name


@pytest.mark.req("R034", "C27")
def test_a_template_resolves_to_a_file_that_resolves_to_itself(file: Path, tmp_path: Path) -> None:
    (tmp_path / "whole.yaml").write_text(resolved(file), "utf-8")

    again = resolved(tmp_path / "whole.yaml")

    assert load(again, name="again").value == load(resolved(file), name="once").value
    assert "podium/templates/" in resolved(file, origin=True)


def test_a_template_passes_when_every_step_passes(file: Path, template: str, tmp_path: Path) -> None:
    cast = tmp_path / "cast.yaml"
    cast.write_text(LUCK.get(template, "[]\n"), "utf-8")

    trace = rehearse(open_workflow(file), cast, inputs=inputs_of(template)).run

    assert (trace.status, trace.exit) == ("passed", 0)


def test_a_template_ends_in_every_world(file: Path, template: str) -> None:
    survey = forecast(open_workflow(file), seeds=range(7, 67), inputs=inputs_of(template))

    assert sum(survey.statuses.values()) == 60
    assert survey.statuses.get("passed", 0) > 0 or template in LUCK
