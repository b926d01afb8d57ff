"""Texts about a run: the audit log, what it waits for, and the next commands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    AttemptGuided,
    AttemptStarted,
    AttemptTaken,
    CancelAsked,
    Event,
    GuidanceGiven,
    JoinEnded,
    JumpAsked,
    LimitRaised,
    RetryScheduled,
    RunEnded,
    RunPaused,
    RunRecovered,
    RunResumed,
    SignalReceived,
    StepEnded,
    StepEntered,
    TimerFired,
    WaitStarted,
)
from podium.core.payloads import Amounts, RefusedMember, Verdict
from podium.core.types import Address, MicroUsd, Millis, Role, Tree
from podium.views.files.audit_log import audit_line
from podium.views.files.growing_logs import level_of
from podium.views.files.run_json import run_data
from podium.views.files.summary import summary_text
from podium.views.format import plural
from podium.views.plain import as_text, one_line, short_id
from podium.views.run.builder import RunViewBuilder, run_view
from podium.views.run.view import LimitView, Pending, RunView, StepView
from podium.views.text.costs import outcome_text
from podium.views.text.next_steps import Hint, answers_to, next_steps, waits_for
from podium.views.text.terminal import list_lines, run_lines

NOW = Millis(5)
A = Address("a")
ENTERED = StepEntered(NOW, A, Address(""), "step", 0, 1)
TREE = Tree("0123456789abcdef")


def told(*events: Event) -> str | None:
    """The audit line of the last of these events."""
    account = RunViewBuilder()
    account.feed(events)
    return audit_line(events[-1], account)


@pytest.mark.req("R122")
@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            ApprovalAsked(NOW, A, "human", ("ann", "bob"), 2, TREE),
            "question  a asks ann, bob (human, 2 approvals)  [tree 0123456789]",
        ),
        (
            ApprovalGiven(NOW, A, "reject", "ann", "not\nyet", None, TREE),
            'answer    a reject by ann: "not yet"  [tree 0123456789]',
        ),
        (ApprovalGiven(NOW, A, "answer", "ann", answer={"x": 1}), 'answer    a answer {"x": 1} by ann'),
        (SignalReceived(NOW, A, "deployed", None, "ci"), "signal    a got deployed by ci"),
        (AttemptTaken(NOW, A, 2, "ann", "claude"), "taken     a attempt 2 by ann with claude"),
        (AttemptGuided(NOW, A, 2, "be brief", "ann"), 'guided    a attempt 2 by ann: "be brief"'),
        (
            AttemptGuided(NOW, A, 2, "be brief", "ann", "codex cannot"),
            "guided    a attempt 2 not reached: codex cannot",
        ),
        (
            AttemptDoubted(NOW, A, 1),
            "doubt     a attempt 1: it may have taken effect before the crash",
        ),
        (
            JoinEnded(NOW, A, None, (RefusedMember(Address("b"), "conflict", "both changed x"),)),
            "join      a refused b conflict: both changed x",
        ),
        (CancelAsked(NOW, "ann", "enough", force=True), "command   cancel (forced) by ann: enough"),
        (RunPaused(NOW, "ann"), "command   pause by ann"),
        (RunResumed(NOW, "ann"), "command   resume by ann"),
        (GuidanceGiven(NOW, "ann", "use x"), 'command   guidance by ann: "use x"'),
        (LimitRaised(NOW, Address(""), "usd", 9, "ann"), "command   limit usd raised to 9 by ann"),
        (JumpAsked(NOW, A, 0, "ann", "wrong"), "command   jump back in a by ann: wrong"),
        (RunRecovered(NOW, 3), "run       taken over by owner 3"),
        (
            RunEnded(NOW, "limited", "failed", "limit", 5, {}, "money"),
            "run       limited (limit), exit 5: money",
        ),
        (
            StepEnded(NOW, A, "failed", "no_change", message="nothing"),
            "step      a failed (no_change): nothing",
        ),
        (StepEnded(NOW, A, "passed"), None),
        (
            StepEnded(NOW, A, "passed", result={"output": {"commit": "f" * 40, "branch": "main"}}),
            "landing   a committed ffffffffff to main",
        ),
        (StepEnded(NOW, A, "passed", result={"output": {"commit": "f" * 40, "message": "m"}}), None),
        (
            AttemptEnded(NOW, A, 1, "ok", verdict=Verdict("reject", 3, ({"issue": "x"},), TREE, "no")),
            "verdict   a rejects, score 3, 1 finding: no  [tree 0123456789]",
        ),
        (RetryScheduled(NOW, A, NOW, "transient"), None),
        (TimerFired(NOW, A, NOW), None),
    ],
)
def test_the_audit_log_has_a_line_for_each_decision(event: Event, line: str | None) -> None:
    assert told(ENTERED, event) == line


def test_a_reminder_says_that_the_question_is_unanswered() -> None:
    asked = ApprovalAsked(NOW, A, "human", (), 1)

    assert told(ENTERED, asked, TimerFired(NOW, A, NOW)) == "silence   a has not been answered"


def test_log_levels_distinguish_failures_warnings_and_information() -> None:
    assert level_of(StepEnded(NOW, A, "failed")) == "ERROR"
    assert level_of(RunEnded(NOW, "cancelled", "cancelled", "", 130, {})) == "ERROR"
    assert level_of(AttemptEnded(NOW, A, 1, "quota")) == "WARNING"
    assert level_of(RetryScheduled(NOW, A, NOW, "quota")) == "WARNING"
    assert level_of(ENTERED) == "INFO"


def pending(kind: str, **fields: object) -> Pending:
    return Pending(A, kind, NOW)._replace(**fields)  # type: ignore[arg-type]  # the fields of the case


@pytest.mark.parametrize(
    ("waiting", "words", "first"),
    [
        (pending("approval", by=("ann",)), "an answer from ann", "podium approve r a"),
        (
            pending("approval", approvals=2, approved_by=("ann",)),
            "an answer from anyone (1 of 2)",
            "podium approve r a",
        ),
        (pending("question"), "an answer from anyone", "podium answer VALUE r a"),
        (
            pending("exhausted", actions=("retry",)),
            "an answer from anyone",
            "podium approve r a --action retry",
        ),
        (pending("by_hand"), "a person's work", "podium approve r a"),
        (pending("signal", name="go now"), "the signal go now", "podium signal r 'go now'"),
        (pending("quota"), "the quota window", None),
        (pending("retry"), "the next attempt", None),
        (pending("timer"), "its timer", None),
        (pending("wait"), "something outside", None),
        (pending("file", name="x.txt"), "file x.txt", None),
    ],
)
def test_every_wait_has_a_description_and_a_command_if_a_person_can_end_it(
    waiting: Pending, words: str, first: str | None
) -> None:
    assert waits_for(waiting) == words
    assert next((hint.command for hint in answers_to("r", waiting)), None) == first


def test_an_address_is_quoted_for_the_shell() -> None:
    strange = pending("approval", path=Address("a#3/!exhausted"))

    assert next(iter(answers_to("r", strange))).command == "podium approve r 'a#3/!exhausted'"


REACHED = "the limit on usd of the run is reached: $1.20 spent, $1.50 allowed"


def view(status: str, **fields: object) -> RunView:
    return run_view([ENTERED])._replace(run="r", status=status, **fields)  # type: ignore[arg-type]  # of the case


@pytest.mark.parametrize(
    ("seen", "commands"),
    [
        (view("passed"), []),
        (view("passed", tree=TREE), ["podium diff r", "podium apply r"]),
        (view("failed", tree=TREE), ["podium logs r --failed", "podium resume r", "podium diff r"]),
        (view("limited"), ["podium logs r --failed"]),
        (
            view("limited", message=REACHED, limits=(LimitView("usd", 1.5, 1.2),)),
            ["podium logs r --failed", "podium raise r usd=3"],
        ),
        (
            view("limited", message=REACHED.replace("usd", "time"), limits=(LimitView("time", 90.0, 91.0),)),
            ["podium logs r --failed", "podium raise r time=180s"],
        ),
        (view("limited", message=REACHED), ["podium logs r --failed", "podium raise r usd=VALUE"]),
        (
            view("limited", message=REACHED.replace("the run", '"build"')),
            ["podium logs r --failed", "podium resume r --accept-changes"],
        ),
        (view("cancelled"), ["podium show r"]),
        (view("parked"), ["podium resume r"]),
        (view("interrupted"), ["podium resume r"]),
        (view("running"), ["podium logs r -f"]),
    ],
)
def test_the_next_commands_depend_on_the_status(seen: RunView, commands: list[str]) -> None:
    assert [hint.command for hint in next_steps(seen)] == commands


@pytest.mark.req("R129")
@pytest.mark.parametrize("result", [{"action": "dump_context"}, {"output": {"action": "dump_context"}}])
def test_a_run_stopped_for_inspection_suggests_an_export(result: dict[str, object]) -> None:
    asked = StepEntered(NOW, Address("#1/!advice"), Address(""), "advice", 0, 1)
    answered = StepEnded(NOW, asked.path, "passed", result=result)
    seen = run_view([asked, answered])._replace(run="r", status="failed")

    commands = [hint.command for hint in next_steps(seen)][:2]
    assert commands == ["cat .podium/runs/r/debug_dump.json", "podium export r"]


@pytest.mark.req("R178")
def test_a_landing_that_could_not_update_the_checkout_is_reported_everywhere() -> None:
    """Otherwise the user's next commit would silently revert the landing."""
    output = {"commit": "f" * 40, "branch": "main", "notes": "your files could not follow"}
    landed = StepEnded(NOW, A, "passed", result={"output": output})
    seen = run_view([ENTERED, landed])._replace(run="r", status="passed", tree=TREE, ended=NOW)

    assert "  your files could not follow" in list(run_lines(seen, NOW))
    assert "**your files could not follow**" in summary_text(seen)
    assert run_data(seen)["steps"][0]["output"]["notes"] == "your files could not follow"
    assert Hint("podium apply r", "to update your checked-out files to the branch") in next_steps(seen)


@pytest.mark.parametrize(
    ("commit", "words"),
    [
        ("f" * 40, "a had nothing to land: main already has all changes"),
        ("", "a had nothing to land: main was not created"),
    ],
)
def test_a_landing_with_nothing_to_land_names_no_commit(commit: str, words: str) -> None:
    output = {"commit": commit, "branch": "main", "unchanged": True}
    landed = StepEnded(NOW, A, "passed", result={"output": output})
    seen = run_view([ENTERED, landed])._replace(run="r", status="passed", tree=TREE, ended=NOW)

    assert words in list(run_lines(seen, NOW))
    assert words.replace("a had", "- `a` had").replace("main", "`main`") in summary_text(seen).splitlines()
    assert told(ENTERED, landed) == f"landing   {words}"


def test_files_in_the_way_of_a_landing_are_listed_with_the_next_command() -> None:
    words = '"main" is checked out, and your own uncommitted work is in the way: one.txt, another/file.txt'
    ended = StepEnded(NOW, A, "failed", "in_the_way", message=words)
    seen = run_view([ENTERED, ended])._replace(run="r", status="failed", ended=NOW)

    assert f"  {words}" in list(run_lines(seen, NOW))
    assert Hint("podium rerun r a", "to land it after you have moved the files in the way") in next_steps(
        seen
    )


def test_landed_work_is_not_suggested_for_apply() -> None:
    landed = StepEnded(NOW, A, "passed", result={"output": {"commit": "f" * 40, "branch": "main"}})
    seen = run_view([ENTERED, landed])._replace(run="r", status="passed", tree=TREE, ended=NOW)

    assert [hint.command for hint in next_steps(seen)] == ["podium diff r"]
    assert "a committed ffffffffff to main" in list(run_lines(seen, NOW))


def test_a_run_without_a_process_says_so() -> None:
    assert "  no process drives this run" in list(run_lines(view("interrupted"), NOW))


@pytest.mark.req("R213")
def test_parallel_steps_are_listed_below_their_parents() -> None:
    began = "a a[1] a[2] a[1]/x a[2]/x a[2]/x#1/lint a[1]/x#1/lint a[1]/x~2 b b~2".split()
    seen = run_view([replace(ENTERED, path=Address(path)) for path in began])

    shown = [line.split()[1] for line in run_lines(seen, NOW, hints=False) if line.startswith((">>", ".."))]

    assert shown == "a a[1] a[1]/x a[1]/x#1/lint a[1]/x~2 a[2] a[2]/x a[2]/x#1/lint b b~2".split()


def test_unknown_costs_are_shown() -> None:
    used = AttemptEnded(NOW, A, 1, "ok", used=Amounts(MicroUsd(0), 10, 1), cost_known=False)
    seen = run_view([ENTERED, AttemptStarted(NOW, A, 1, Amounts()), used, WaitStarted(NOW, A, None)])

    lines = "\n".join(run_lines(seen, NOW))
    assert "$0.00 and 1 call of unknown cost" in lines
    assert "unknown" in lines.split("\n\n")[1]


def test_untrusted_text_becomes_one_safe_line() -> None:
    assert one_line("a\x1b[31m\nb\u202e  c") == "a [31m b c"
    assert one_line("x" * 200, 10) == "xxxxxxx..."
    assert (as_text(None), as_text("t"), as_text([1])) == ("", "t", "[1]")
    assert (short_id(None), plural(1, "file"), plural(2, "file")) == ("", "1 file", "2 files")


def test_the_columns_of_a_list_are_aligned_for_every_status() -> None:
    rows = (view("interrupted", started=None), view("passed", started=NOW))

    lines = list(list_lines(rows, NOW))

    assert lines[0].index("cost") == lines[1].index("$") == lines[2].index("$")


@pytest.mark.parametrize(
    ("role", "result", "text"),
    [
        ("question", {"action": "fail"}, "answered fail"),
        ("question", {}, "passed"),
        ("step", {"action": "fail"}, "passed"),
    ],
)
def test_a_question_of_podium_shows_its_answer_and_not_that_it_passed(
    role: Role, result: dict[str, str], text: str
) -> None:
    step = StepView(
        Address("a#1/!exhausted"), Address("a"), role, 1, Millis(0), "ended", "passed", result=result
    )

    assert outcome_text(step) == text
