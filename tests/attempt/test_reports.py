"""Reports of tests and coverage: what is read from them, what is refused, and what a gate makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from podium.attempt.command.report_xml import UnreadableReport
from podium.attempt.command.test_reports import (
    Report,
    Status,
    describe_known_failures,
    from_json,
    read_coverage,
    read_tests,
    suite_fault,
    to_json,
)
from tests.attempt.runs import Bench, bench, writes
from tests.git.kit import Project
from tests.timing import work_within

WORKER = "roles: {w: {agent: claude, prompt: work}}\n"


def junit(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


def case(name: str, inside: str = "") -> str:
    return f'<testcase classname="t" name="{name}">{inside}</testcase>'


def report_of(cases: Mapping[str, Status]) -> Report:
    return Report(cases)


def test_a_junit_report_tells_how_each_test_ended() -> None:
    report = junit(
        case("a"), case("b", "<failure/>"), case("c", "<error/>"), case("d", "<skipped/>"), case("a")
    )

    tests = read_tests(report.encode())

    assert tests.cases == {
        "t::a": "passed",
        "t::b": "failed",
        "t::c": "error",
        "t::d": "skipped",
        "t::a (2)": "passed",
    }
    assert tests.counts() == {"total": 5, "passed": 2, "failed": 1, "errors": 1, "skipped": 1}
    assert from_json(to_json(tests)).cases == tests.cases


def test_a_test_that_node_calls_still_to_do_may_fail() -> None:
    todo = '<testcase name="later"><skipped type="todo" message="true"/><failure>no</failure></testcase>'
    found = read_tests(f'<testsuites><testcase name="now"/>{todo}</testsuites>'.encode())

    assert found.cases == {"now": "passed", "later": "skipped"}
    assert suite_fault(found, None) is None
    assert suite_fault(found, Report({"later": "failed"})) == "1 tests are skipped that ran before: later"


def test_many_tests_of_one_name_are_told_apart_in_a_time_that_grows_with_their_number() -> None:
    report = junit(*[case("a", "<failure/>")] * 20_000).encode()

    with work_within(8):
        tests = read_tests(report)
        told = describe_known_failures(tests, tests)

    assert len(tests.cases) == 20_000
    assert told.startswith("20000 of 20000 red tests were red before")


@pytest.mark.parametrize(
    ("now", "before", "says"),
    [
        ({}, None, "no tests"),
        ({"a": "skipped"}, None, "all tests of the report were skipped"),
        ({"a": "passed"}, {"a": "passed", "b": "passed"}, "1 tests of the base tree are gone: b"),
        ({"a": "passed", "b": "skipped"}, {"a": "passed", "b": "passed"}, "skipped that ran before: b"),
        ({"a": "passed", "b": "skipped"}, {"a": "passed", "b": "skipped"}, None),
        ({"a": "passed", "b": "skipped"}, {"a": "passed"}, None),
        ({"a": "passed"}, None, None),
    ],
)
def test_tests_that_vanish_or_no_longer_run_are_complained_about(
    now: Mapping[str, Status], before: Mapping[str, Status] | None, says: str | None
) -> None:
    found = suite_fault(report_of(now), None if before is None else report_of(before))

    assert (found is None) if says is None else (found is not None and says in found)


@pytest.mark.parametrize(
    ("content", "percent"),
    [
        ('<?xml version="1.0"?><!DOCTYPE coverage SYSTEM "x.dtd"><coverage line-rate="0.8251"/>', 82.51),
        ("TN:\nSF:a.py\nLF:10\nLH:7\nend_of_record\nSF:b.py\nLF:10\nLH:8\n", 75.0),
        ('{"totals": {"percent_covered": 91.666}}', 91.66),
        ('<coverage line-rate="0.79996"/>', 79.99),
        ('<coverage line-rate="0.57"/>', 57.0),
    ],
)
def test_coverage_is_read_in_three_formats(content: str, percent: float) -> None:
    assert read_coverage(content.encode()) == percent


@pytest.mark.parametrize(
    "content",
    [
        "",
        "<coverage/>",
        '<coverage line-rate="nan"/>',
        '<coverage line-rate="7"/>',
        "<other/>",
        "{}",
        '{"totals": {"percent_covered": "much"}}',
        '{"totals": {"percent_covered": 100.0, "num_statements": 0}}',
        '<coverage line-rate="1" lines-valid="0" lines-covered="0"/>',
        '<!DOCTYPE x [<!ENTITY a "b">]><coverage line-rate="1"/>',
        "<coverage",
    ],
)
def test_what_is_no_report_of_coverage_is_refused(content: str) -> None:
    with pytest.raises(UnreadableReport):
        read_coverage(content.encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_report_in_utf_16_hides_no_entities(encoding: str) -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x [<!ENTITY a "b">]><coverage line-rate="1"/>'

    with pytest.raises(UnreadableReport):
        read_coverage(text.encode(encoding))
    with pytest.raises(UnreadableReport, match="not UTF-8"):
        read_tests(text.encode(encoding))


def gated(project: Project, folder: Path, gate: str, edits: Mapping[str, str]) -> Bench:
    text = f"""{WORKER}
steps:
  it: {{role: w, touches: ["**"], retry: 1, gates: [{gate}], on: {{failed: next}}}}
"""
    return bench(project, folder, text, edits={"it": writes(edits)})


GATE = "{run: [cp, made.xml, report.xml], junit: report.xml}"


def test_a_green_report_passes_and_is_counted(project: Project, tmp_path: Path) -> None:
    played = gated(project, tmp_path, GATE, {"made.xml": junit(case("a"), case("b"))}).play()

    assert played.ending("it").outcome == "passed"
    assert played.result("it#1/run")["tests"]["passed"] == 2


@pytest.mark.parametrize(
    ("gate", "files", "says"),
    [
        (GATE, {"made.xml": junit()}, "no tests"),
        (GATE, {"made.xml": "<no xml"}, "cannot be used"),
        (GATE, {"made.xml": junit(case("a", "<failure/>"))}, "1 of 1 tests failed"),
        ("{run: [ls], junit: report.xml}", {"made.xml": ""}, "wrote no report"),
        ("{run: [ls], junit: report.xml}", {"report.xml": junit(case("a"))}, "wrote no report"),
    ],
    ids=["empty", "broken", "red", "none", "forged"],
)
@pytest.mark.req("C49", "X7")
def test_a_report_that_proves_nothing_fails_the_gate(
    project: Project, tmp_path: Path, gate: str, files: Mapping[str, str], says: str
) -> None:
    """A report that the worker put into the tree is no report: it was there before the command ran."""
    played = gated(project, tmp_path, gate, files).play()

    assert played.answer("it#1/run").kind == "failed"
    assert says in played.result("it#1/run")["message"]
    assert played.ending("it").outcome == "failed"


def test_a_report_is_looked_for_from_the_root_wherever_the_command_runs(
    project: Project, tmp_path: Path
) -> None:
    gate = "{run: [cp, ../made.xml, report.xml], dir: data, junit: data/report.xml}"

    played = gated(project, tmp_path, gate, {"made.xml": junit(case("a"))}).play()

    assert played.result("it#1/run")["tests"]["total"] == 1


def test_a_test_that_the_work_removes_is_missed(project: Project, tmp_path: Path) -> None:
    """The gate has passed on the tree the second worker starts from, so its tests are known."""
    text = f"""{WORKER}
gates:
  tests: {GATE}
steps:
  one: {{role: w, touches: ["**"], gates: [tests]}}
  two: {{role: w, touches: ["**"], gates: [tests], retry: 1, on: {{failed: next}}}}
"""
    edits = {
        "one": writes({"made.xml": junit(case("a"), case("b"))}),
        "two": writes({"made.xml": junit(case("a"))}),
    }
    played = bench(project, tmp_path, text, edits=edits).play()

    assert played.ending("one").outcome == "passed"
    assert played.ending("two").outcome == "failed"
    assert "t::b" in played.result("two#1/tests")["message"]


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    ("now", "told"),
    [
        (("a", "b"), "1 of 2 red tests were red before this work: t::a; red by this work: t::b"),
        (("a",), "1 of 1 red tests were red before this work: t::a; this work made none red"),
        (("b",), None),
    ],
    ids=["both", "old", "new"],
)
def test_a_red_gate_tells_old_faults_from_those_of_the_work(
    project: Project, tmp_path: Path, now: tuple[str, ...], told: str | None
) -> None:
    def report(*red: str) -> str:
        return junit(*(case(name, "<failure/>" if name in red else "") for name in "abc"))

    project.commit({"made.xml": report("a")}, "tests")
    gate = '{name: g, run: [sh, -c, "cp made.xml report.xml; exit 1"], junit: report.xml}'
    played = gated(project, tmp_path, gate, {"made.xml": report(*now), "work.txt": "done"}).play()

    assert played.ending("it").outcome == "failed"
    message = played.result("it#1/g")["message"]
    assert "red before" not in message if told is None else message.startswith(told)
    assert played.result("it#1/g")["tests"]["failed"] == len(now)


@pytest.mark.req("R109", "R125")
def test_too_little_coverage_fails_the_gate(project: Project, tmp_path: Path) -> None:
    gate = "{run: [cp, made.info, cov.info], coverage: {report: cov.info, min: 80}}"

    low = gated(project, tmp_path, gate, {"made.info": "LF:10\nLH:7\n"}).play()
    high = gated(project, tmp_path, gate, {"made.info": "LF:10\nLH:9\n"}).play()

    assert low.ending("it").outcome == "failed"
    assert "70.0 %" in low.result("it#1/run")["message"]
    assert high.result("it#1/run")["coverage"] == 90.0
    assert high.ending("it").outcome == "passed"


RED_GREEN = "{run: [sh, tests/check.sh], must_fail_before: true}"


@pytest.mark.parametrize(
    ("files", "outcome", "says"),
    [
        ({"tests/check.sh": "grep -q 'x = 2' src/app.py\n", "src/app.py": "x = 2\n"}, "passed", ""),
        ({"tests/check.sh": "true\n", "src/app.py": "x = 2\n"}, "failed", "do not prove the change"),
        ({"src/app.py": "x = 2\n"}, "failed", "no test was added or changed"),
        (
            {"tests/check.sh": "grep -q 'x = 3' src/app.py\n", "src/app.py": "x = 2\n"},
            "failed",
            "ended with 1",
        ),
    ],
    ids=["red_then_green", "green_before", "no_test", "red_twice"],
)
@pytest.mark.req("X7")
def test_the_changed_tests_must_fail_on_the_code_from_before(
    project: Project, tmp_path: Path, files: Mapping[str, str], outcome: str, says: str
) -> None:
    played = gated(project, tmp_path, RED_GREEN, files).play()

    assert played.ending("it").outcome == outcome
    assert says in played.result("it#1/run").get("message", "")


def test_a_step_of_its_own_is_red_before_green_since_its_block_began(
    project: Project, tmp_path: Path
) -> None:
    text = f"""{WORKER}
steps:
  it: {{role: w, touches: ["**"]}}
  prove: {{run: [sh, tests/check.sh], must_fail_before: true, on: {{else: next}}}}
"""
    good = {"tests/check.sh": "grep -q 'x = 2' src/app.py\n", "src/app.py": "x = 2\n"}
    idle = {"tests/check.sh": "true\n", "src/app.py": "x = 2\n"}

    outcomes = [
        bench(project, tmp_path, text, edits={"it": writes(files)}).play().ending("prove").outcome
        for files in (good, idle)
    ]

    assert outcomes == ["passed", "failed"]
