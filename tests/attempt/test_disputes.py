"""Which earlier tests are disputed, and which reasons of the author are about them."""

from __future__ import annotations

import pytest

from podium.attempt.agent.tests_changed import claims_in
from podium.attempt.agent.verdict import accepted_tests, verdict_of
from podium.attempt.command.disputes import (
    FAILS,
    GONE,
    NO_IMPORT,
    SKIPPED,
    DisputedTest,
    _problem,
    _why,
    compare,
    disputed,
    files_of,
    moved,
)
from podium.attempt.command.test_reports import Report
from podium.core.payloads import Verdict
from podium.tasks.task import ReviewScope

BASE = Report({"tests.test_a::x": "passed", "tests.test_a::y": "passed", "tests.test_b::z[1]": "passed"})


def test_tests_that_fail_vanish_or_are_skipped_are_disputed() -> None:
    now = Report({"tests.test_a::x": "failed", "tests.test_a::y": "skipped"})

    assert compare(BASE, now) == {
        "tests.test_a::x": FAILS,
        "tests.test_b::z[1]": GONE,
        "tests.test_a::y": SKIPPED,
    }


def test_a_file_that_cannot_be_loaded_is_one_row() -> None:
    assert compare(BASE, Report({"tests.test_a": "error"})) == {"tests.test_a": NO_IMPORT}


def test_other_names_of_parameters_are_no_loss_but_fewer_of_them_are() -> None:
    base = Report({"t::z[1]": "passed", "t::z[2]": "passed"})

    assert compare(base, Report({"t::z[a]": "passed", "t::z[b]": "passed"})) == {}
    assert compare(base, Report({"t::z[1]": "passed"})) == {"t::z[2]": GONE}


def test_an_inline_test_that_moved_to_another_module_is_not_gone() -> None:
    base, now = Report({"tests::adds": "passed"}), Report({"sum::tests::adds": "passed"})

    assert moved(base, now, ["tests::adds"]) == {"tests::adds"}
    assert moved(base, Report({}), ["tests::adds"]) == frozenset()


def test_the_files_of_a_test_are_its_own_its_snapshot_and_changed_settings() -> None:
    paths = [
        "tests/test_a.py",
        "tests/other.py",
        "pyproject.toml",
        "web/__snapshots__/a.test.js.snap",
        "web/a.test.js",
    ]

    assert files_of("tests.test_a::x", paths) == ("tests/test_a.py", "pyproject.toml")
    assert files_of("web/a.test.js::adds", paths) == (
        "web/a.test.js",
        "web/__snapshots__/a.test.js.snap",
        "pyproject.toml",
    )
    assert files_of("app.TestAdd", paths) == tuple(paths)


def test_many_disputed_tests_become_one_row_for_each_file() -> None:
    rows = disputed({f"tests.test_a::x{n}": FAILS for n in range(80)}, ["tests/test_a.py"], was_rerun=True)

    assert rows == [DisputedTest("", f"80 tests: each {FAILS}", ("tests/test_a.py",))]


@pytest.mark.parametrize(
    ("claim", "is_about"),
    [
        ({"test": "tests.test_a::x"}, True),
        ({"test": "tests/test_a.py::x"}, True),
        ({"test": "x"}, True),
        ({"file": "tests/test_a.py"}, True),
        ({"test": "./tests/test_a.py"}, True),
        ({"test": "tests/test_a.py::y"}, False),
        ({"test": "tests/test_b.py"}, False),
    ],
)
def test_a_reason_names_a_test_or_its_file(claim: dict[str, str], is_about: bool) -> None:
    test = DisputedTest("tests.test_a::x", FAILS, ("tests/test_a.py",))

    assert (_why(test, [{**claim, "why": "new rule"}]) == "new rule") is is_about


def test_a_row_without_a_test_needs_a_reason_for_each_file() -> None:
    test = DisputedTest("", FAILS, ("a", "b"))

    assert _why(test, [{"file": "a", "why": "1"}]) == ""
    assert _why(test, [{"file": "a", "why": "1"}, {"test": "b", "why": "2"}]) == "1; 2"


def test_reasons_are_read_from_an_object_and_from_lines() -> None:
    output = {
        "tests_changed": [{"test": "a::b", "why": "c"}, {"why": "nothing"}, "x", {"file": "f", "why": "g"}]
    }

    assert claims_in(output, "") == [{"test": "a::b", "why": "c"}, {"file": "f", "why": "g"}]
    assert claims_in(
        "done", "done\nTESTS_CHANGED: tests/a.py::test_x: the rule: changed\nTESTS_CHANGED: no reason"
    ) == [{"test": "tests/a.py::test_x", "why": "the rule: changed"}]


ROW = {
    "id": "T1",
    "test": "tests.test_a::x",
    "files": ["tests/test_a.py"],
    "problem": FAILS,
    "why": "new rule",
}


def answer(decision: str, accepted: list[str]) -> dict[str, object]:
    return {
        "decision": decision,
        "score": 9,
        "findings": [],
        "summary": "fine",
        "nonce": "n",
        "tree": "none",
        "accepted_tests": accepted,
    }


@pytest.mark.parametrize(("accepted", "decision"), [(["T1"], "approve"), ([], "reject"), (["T2"], "reject")])
def test_a_verdict_approves_only_if_it_accepts_each_disputed_test(accepted: list[str], decision: str) -> None:
    verdict = verdict_of(
        "", (True, answer("approve", accepted)), nonce="n", tree=None, review=ReviewScope(disputed=(ROW,))
    )

    assert isinstance(verdict, Verdict)
    assert verdict.decision == decision
    assert accepted_tests(verdict, [ROW]) == (["T1"] if decision == "approve" else [])


def test_a_phrase_accepts_no_tests_and_an_abort_neither() -> None:
    by_phrase = verdict_of(
        "LGTM", (False, None), nonce="n", tree=None, review=ReviewScope(phrase="LGTM", disputed=(ROW,))
    )
    aborted = verdict_of(
        "", (True, answer("abort", ["T1"])), nonce="n", tree=None, review=ReviewScope(disputed=(ROW,))
    )

    assert isinstance(by_phrase, Verdict) and isinstance(aborted, Verdict)
    assert (by_phrase.decision, aborted.decision) == ("reject", "abort")
    assert accepted_tests(aborted, [ROW]) == []


@pytest.mark.parametrize(
    ("test", "source", "snapshot"),
    [
        ("tests.test_a::x", "tests/test_a.py", "tests/__snapshots__/test_a.ambr"),
        ("tests.test_a::x", "tests/test_a.py", "tests/__snapshots__/test_a/test_x.svg"),
        ("web/a.test.js::x", "web/a.test.js", "web/__snapshots__/a.test.js.snap"),
        ("web/a.test.js::x", "web/a.test.js", "web/a.test.js.snapshot"),
    ],
)
def test_a_row_names_the_changed_snapshot_of_its_test(test: str, source: str, snapshot: str) -> None:
    rows = disputed({test: FAILS}, [source, snapshot, "tests/__snapshots__/other.snap"], was_rerun=True)

    assert rows == [DisputedTest(test, FAILS, (source, snapshot))]
    assert _problem(rows[0]) == f"{FAILS}; the work changed its snapshot {snapshot}"
