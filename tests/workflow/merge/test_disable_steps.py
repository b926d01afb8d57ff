"""Disabling steps of a template: what is refused, and where routes lead afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.workflow.merge.merge import Merged
from tests.workflow.kit import merge_child, merge_project, messages, with_templates

SEQUENCE = """
steps:
  a: {run: a}
  b: {run: b, on: {failed: c, timeout: a}}
  c: {run: c, on: {failed: b}}
  d: {review: reviewer, of: [b, c], on: {rejected: c}}
"""


def disable(folder: Path, names: str, parent: str = SEQUENCE, more: str = "") -> Merged:
    return merge_child(folder, parent, f"disable: [{names}]\n{more}")


@pytest.mark.req("R034", "C27")
def test_a_route_to_a_disabled_step_leads_to_the_following_step(tmp_path: Path) -> None:
    merged = disable(tmp_path, "c")
    steps = merged.value["steps"]

    assert messages(merged) == []
    assert list(steps) == ["a", "b", "d"]
    assert steps["b"]["on"] == {"failed": "d", "timeout": "a"}
    assert steps["d"]["of"] == ["b"]


def test_a_route_that_would_lead_to_its_own_step_is_removed(tmp_path: Path) -> None:
    assert disable(tmp_path, "c").value["steps"]["d"]["on"] == {}


def test_two_disabled_neighbours_are_skipped_together(tmp_path: Path) -> None:
    steps = disable(tmp_path, "b, c", more="steps: {d: {replace: [of]}}").value["steps"]

    assert list(steps) == ["a", "d"]
    assert "of" not in steps["d"]


def test_a_route_to_the_disabled_last_step_leads_to_the_end(tmp_path: Path) -> None:
    parent = "steps: {a: {run: a, on: {failed: c}}, b: {run: b}, c: {run: c}}"

    assert disable(tmp_path, "c", parent).value["steps"]["a"]["on"] == {"failed": "end"}


def test_the_following_step_is_the_one_the_disabled_step_routed_to(tmp_path: Path) -> None:
    parent = """
    steps:
      a: {run: a, on: {failed: x, timeout: y, error: z}}
      x: {run: x, on: {passed: {fail: sorry}}}
      y: {run: y, on: {passed: next}}
      z: {run: z, on: {passed: a}}
      b: {run: b}
    """
    steps = disable(tmp_path, "x, y, z", parent).value["steps"]

    assert steps["a"]["on"] == {"failed": {"fail": "sorry"}}
    assert list(steps) == ["a", "b"]


def test_disabled_steps_that_lead_to_each_other_end_the_block(tmp_path: Path) -> None:
    parent = """
    steps:
      a: {run: a, on: {failed: x}}
      x: {run: x, on: {passed: y}}
      y: {run: y, on: {passed: x}}
      b: {run: b}
    """
    assert disable(tmp_path, "x, y", parent).value["steps"]["a"]["on"] == {"failed": "end"}


GRAPH = """
steps:
  a: {run: a, needs: []}
  x: {run: x, needs: [a]}
  y: {run: y, needs: [x]}
  b: {run: b, needs: [x, a], on: {failed: a}}
  c: {run: c, needs: [b, y], on: {failed: x, timeout: next}}
  d: {run: d, needs: [x], on: {failed: x}}
"""


def test_in_a_graph_the_needs_of_a_disabled_step_are_inherited(tmp_path: Path) -> None:
    merged = disable(tmp_path, "x, y", GRAPH)
    steps = merged.value["steps"]

    assert messages(merged) == []
    assert steps["b"]["needs"] == ["a"]
    assert steps["c"]["needs"] == ["b", "a"]


def test_needs_with_a_rule_keep_it_when_a_step_is_disabled(tmp_path: Path) -> None:
    graph = """
    steps:
      a: {run: a, needs: []}
      x: {run: x, needs: {of: [a], pass: done}}
      b: {run: b, needs: {of: [x], pass: any}}
    """
    steps = disable(tmp_path, "x", graph).value["steps"]

    assert steps["b"]["needs"] == {"of": ["a"], "pass": "any"}


def test_in_a_graph_a_route_back_leads_to_the_first_step_that_needed_the_disabled_one(tmp_path: Path) -> None:
    steps = disable(tmp_path, "x", GRAPH).value["steps"]

    assert steps["c"]["on"] == {"failed": "y", "timeout": "next"}
    assert steps["b"]["on"] == {"failed": "a"}
    assert steps["d"]["on"] == {}


def test_cyclic_needs_do_not_hang(tmp_path: Path) -> None:
    """The check of the merged file reports the cycle."""
    parent = "steps: {a: {run: a, needs: [x]}, x: {run: x, needs: [y]}, y: {run: y, needs: [x]}, z: {run: z}}"

    assert disable(tmp_path, "x, y", parent).value["steps"]["a"]["needs"] == []


def test_a_disabled_step_without_needs_passes_none_on(tmp_path: Path) -> None:
    parent = "steps: {a: {run: a, needs: [z, {}]}, z: {run: z}}"

    assert disable(tmp_path, "z", parent).value["steps"]["a"]["needs"] == [{}]


@pytest.mark.req("R033")
def test_a_required_step_cannot_be_disabled(tmp_path: Path) -> None:
    flow = "podium: 1\nextends: enterprise\ndisable: [plan, ci_gate]\n"
    merged = merge_project(with_templates(tmp_path, {"flow.yaml": flow}))

    assert messages(merged) == ['flow.yaml:3: step "plan" is required and cannot be disabled']
    assert "plan: {required: false}" in merged.problems[0].hint
    assert "plan" in merged.value["steps"]
    assert "ci_gate" not in merged.value["steps"]


def test_a_child_may_lift_the_requirement_and_disable_the_step_in_one_file(tmp_path: Path) -> None:
    parent = "steps: {a: {run: a, required: true}, b: {run: b}}"

    merged = disable(tmp_path, "a", parent, "steps: {a: {required: false}}")

    assert messages(merged) == []
    assert list(merged.value["steps"]) == ["b"]


def test_disabling_a_step_that_does_not_exist_is_a_problem(tmp_path: Path) -> None:
    merged = disable(tmp_path, "bb")

    assert messages(merged) == ['flow.yaml:3: disable: step "bb" does not exist']


def test_a_grandchild_cannot_place_a_step_next_to_a_disabled_one(tmp_path: Path) -> None:
    files = {
        "middle.yaml": "podium: 1\nextends: base\nsteps: {commit: {required: false}}\ndisable: [commit]\n",
        "flow.yaml": "podium: 1\nextends: middle\nsteps: {x: {after: commit, run: x}}\n",
    }
    merged = merge_project(with_templates(tmp_path, files))

    assert messages(merged) == ['flow.yaml:3: after of "x": step "commit" does not exist in this block']


def test_a_new_step_may_be_placed_after_the_step_it_replaces(tmp_path: Path) -> None:
    merged = disable(tmp_path, "a", more="steps: {new: {after: a, run: x}}")

    assert messages(merged) == []
    assert list(merged.value["steps"]) == ["new", "b", "c", "d"]


READERS = """
outputs: {found: "${{ steps.scan.output }}"}
gates: {clean: {check: "steps['scan'].exit_code == 0"}}
steps:
  scan: {run: scan}
  report: {agent: claude, prompt: "Report {{ steps.scan.text }} and {{ steps.scan.output }}"}
  judge: {steps: {inner: {review: reviewer, of: scan}}}
  other: {run: "echo ${{ steps.group.steps.scan.output }} ${{ steps.scanner.output }}", env: [X=1]}
finally:
  tidy: {run: x, when: steps.scan.outcome == 'passed'}
"""


def test_every_reader_of_a_disabled_step_is_reported(tmp_path: Path) -> None:
    merged = disable(tmp_path, "scan", READERS)

    assert messages(merged) == [
        f'flow.yaml:3: disabled step "scan" is read by "{reader}"'
        for reader in ("clean", "judge", "outputs", "report", "tidy")
    ]
    assert all(problem.rule == 33 for problem in merged.problems)
    assert "base.yaml:7" in next(p.hint for p in merged.problems if '"report"' in p.message)


def test_a_disabled_step_is_no_longer_shown_to_people(tmp_path: Path) -> None:
    parent = """
    steps:
      scan: {run: scan}
      work: {run: x, gates: [lint, {human: "Good?", show: [scan, diff]}]}
      show: {human: "Good?", show: [scan]}
    """
    steps = disable(tmp_path, "scan", parent).value["steps"]

    assert steps["work"]["gates"] == ["lint", {"human": "Good?", "show": ["diff"]}]
    assert steps["show"]["show"] == []


def test_a_review_that_loses_all_its_steps_is_reported(tmp_path: Path) -> None:
    merged = disable(tmp_path, "b, c")

    assert messages(merged) == [f'flow.yaml:3: disabled step "{name}" is read by "d"' for name in "bc"]
    assert merged.value["steps"]["d"]["of"] == ["b", "c"]


def test_lists_of_steps_inside_a_build_are_shortened_too(tmp_path: Path) -> None:
    parent = """
    steps:
      scan: {run: scan}
      all:
        build: features/x.yaml
        component: {steps: {ask: {human: "Good?", show: [scan, diff]}}}
    """
    steps = disable(tmp_path, "scan", parent).value["steps"]

    assert steps["all"]["component"]["steps"]["ask"]["show"] == ["diff"]


def test_values_that_only_look_like_step_names_are_not_changed(tmp_path: Path) -> None:
    parent = "steps: {scan: {run: x}, a: {for_each: [{show: [scan]}], run: x, with: {show: [scan]}}}"

    step = disable(tmp_path, "scan", parent).value["steps"]["a"]

    assert step["for_each"] == [{"show": ["scan"]}]
    assert step["with"] == {"show": ["scan"]}


def test_a_changed_route_names_the_place_that_disabled_the_step(tmp_path: Path) -> None:
    from podium.workflow.merge.write_yaml import write_merged

    text = write_merged(disable(tmp_path, "c"), origin=True)

    (line,) = [line for line in text.splitlines() if "failed: d" in line]
    assert line.endswith("flow.yaml:3, " + str(tmp_path / "base.yaml:5"))
