"""Runs that continue as new ones: ledger, head, memory, landings and links, with everything real but the agents (decision 165)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import anyio
import pytest

from podium.app.archive.check_export import check_any
from podium.app.archive.gc import preview
from podium.app.run.rerun import preview_rerun, start_rerun
from podium.app.run.series import next_of, runs_of_series
from podium.core.events import AttemptStarted, Event, RunEnded, RunStarted
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel, Guide
from podium.core.types import Millis
from podium.errors import ConfigurationError
from tests.engine.kit import HEAD, TEAM, Project, drive, git

pytestmark = pytest.mark.slow

SERIES = """\
  work: {agent: w, prompt: "Do part {{ run.number }}.", touches: []}
  more:
    continue_as: new
    when: inputs.n < inputs.upto
    with: {n: "${{ inputs.n + 1 }}"}
    max: 100
"""
CAST = "- {match: {step: work}, text: done, cost_usd: 0.25, usage: {input: 10, output: 5}}\n"
TEAM_OF_ONE = TEAM.replace("cast.yaml}", "cast.yaml, estimate: {usd: 0.25, tokens: 15}}")
INPUTS = "inputs: {n: {type: int, default: 1}, upto: {type: int, default: 50}}\n"


def runs(project: Project) -> list[RunId]:
    """All runs, the oldest first."""
    return [head.run for head in reversed(project.facade.runtime.heads())]


def started(events: Sequence[Event]) -> RunStarted:
    assert isinstance(events[0], RunStarted)
    return events[0]


def ended(events: Sequence[Event]) -> RunEnded:
    assert isinstance(events[-1], RunEnded)
    return events[-1]


@pytest.mark.req("X3")
def test_a_run_that_continues_fifty_times_keeps_its_ledger_exact(project: Project) -> None:
    first, state = project.run(
        project.flow(SERIES, head=f"{TEAM_OF_ONE}{INPUTS}limits: {{usd: 20}}\n", cast=CAST)
    )

    names = runs(project)
    assert names == [first, *(RunId(f"{first}-{number}") for number in range(2, 51))]
    assert state.ended is not None
    assert (state.ended.status, state.ended.continued_by) == ("passed", "")
    for number, run in enumerate(names, 1):
        facts = started(project.events(run)).run
        assert facts.carried.usd == 250_000 * (number - 1)
        assert facts.carried.tokens == 15 * (number - 1)
        assert facts.carried.calls == number - 1
        view = project.view(run).series
        assert view is not None
        assert (view.number, view.usd, view.calls) == (number, 250_000 * number, number)
    report, count = project.facade.queries.costs(names[20], "agent", series=True)
    assert (count, report.simulated.usd, report.simulated.calls) == (50, 12_500_000, 50)
    check = project.facade.queries.verify(names[-1])
    assert (check.fault, len(check.follows), check.deleted) == (None, 49, "")


def test_a_limit_is_for_the_whole_series(project: Project) -> None:
    _, state = project.run(
        project.flow(SERIES, head=f"{TEAM_OF_ONE}{INPUTS}limits: {{usd: 1.0}}\n", cast=CAST), {"upto": 9}
    )

    assert len(runs(project)) == 5
    assert state.ended is not None
    assert (state.ended.status, state.ended.exit) == ("limited", 5)


def test_a_limit_of_a_step_is_for_the_whole_series_too(project: Project) -> None:
    steps = SERIES.replace("touches: []}", "touches: [], limits: {calls: 3}}")
    _, state = project.run(project.flow(steps, head=TEAM_OF_ONE + INPUTS, cast=CAST), {"upto": 9})

    calls = [project.view(run).calls for run in runs(project)]
    assert calls == [1, 1, 1, 0]
    assert state.ended is not None
    assert state.ended.status == "limited"


def test_a_limit_for_each_run_starts_anew_and_the_sum_stays_exact(project: Project) -> None:
    head = f"{TEAM_OF_ONE}{INPUTS}limits: {{usd: 0.5, per: run}}\n"
    _, state = project.run(project.flow(SERIES, head=head, cast=CAST), {"upto": 9})

    assert state.ended is not None
    assert state.ended.status == "passed"
    last = project.view(runs(project)[-1])
    assert last.series is not None
    assert (last.series.number, last.series.usd, last.usd) == (9, 2_250_000, 250_000)


def test_a_workflow_cannot_get_the_limits_of_a_project_anew(project: Project) -> None:
    project.write(".podium/config.yaml", "limits: {usd: 1}\n")
    file = project.flow(SERIES, head=f"{TEAM_OF_ONE}{INPUTS}limits: {{per: run}}\n", cast=CAST)

    with pytest.raises(ConfigurationError, match=r"limits\.per: run"):
        project.begin(file)


LANDING = """\
  work: {run: [sh, -c, 'echo "$0" >> log', "${{ run.number }}"], touches: [log]}
  land: {git: {land: main, message: "Part ${{ run.number }}"}}
  more: {continue_as: new, when: run.number < 4, max: 9}
"""


def test_each_run_of_a_series_lands_only_what_is_new(project: Project) -> None:
    """The head is carried, with what has landed; the branch moves once for each run."""
    project.run(project.flow(LANDING))

    assert git(project.root, "log", "--format=%s", "main").splitlines() == [
        "Part 4", "Part 3", "Part 2", "Part 1", "work"
    ]  # fmt: skip
    assert git(project.root, "show", "main:log").splitlines() == ["1", "2", "3", "4"]
    facts = started(project.events(runs(project)[-1])).run
    assert facts.series is not None
    assert len(facts.series.landings) == 1, "the list must not grow with the series"


def test_work_that_has_not_landed_is_landed_by_a_later_run(project: Project) -> None:
    steps = LANDING.replace('message: "Part ${{ run.number }}"}}', "message: All}, when: run.number == 4}")
    project.run(project.flow(steps))

    assert git(project.root, "log", "--format=%s", "main").splitlines() == ["All", "work"]
    assert git(project.root, "show", "main:log").splitlines() == ["1", "2", "3", "4"]


def test_commits_of_others_stay_when_a_series_lands(project: Project) -> None:
    """Between two runs the user commits; the next landing merges and reverts nothing."""
    steps = LANDING.replace("  more:", "  pause: {human: Go on.}\n  more:")
    first, _ = project.run(project.flow(steps))
    project.write("theirs.txt", "theirs\n")
    project.commit()
    run = first
    for _ in range(4):
        answer = project.facade.commands.approval(run, None, by="ann", action=None, feedback="")
        state = project.say(run, answer.message).state
        assert state is not None
        assert state.started is not None
        run = RunId(state.started.run.id)

    assert git(project.root, "show", "main:log").splitlines() == ["1", "2", "3", "4"]
    assert git(project.root, "show", "main:theirs.txt") == "theirs"


def test_the_next_run_sees_the_memory_that_the_one_before_has_stored(project: Project) -> None:
    steps = """\
  learn: {run: [sh, -c, 'echo "$0" >> $PODIUM_MEMORY/seen.md', "${{ run.number }}"], memory: notes}
  more: {continue_as: new, when: run.number < 3, max: 9}
"""
    project.run(project.flow(steps))

    assert git(project.root, "show", "refs/podium/memory/notes:seen.md").splitlines() == ["1", "2", "3"]
    assert git(project.root, "rev-list", "--count", "refs/podium/memory/notes") == "3"


def test_guidance_that_no_agent_has_received_goes_along(project: Project) -> None:
    steps = """\
  wait: {human: Go on., when: run.number == 1}
  more: {continue_as: new, when: run.number == 1, max: 9}
  work: {agent: w, prompt: Do it., touches: []}
"""
    first, _ = project.run(project.flow(steps, head=TEAM))
    project.say(first, Guide("ann", "Use the old names."), drives=False)
    answer = project.facade.commands.approval(first, None, by="ann", action=None, feedback="")
    project.say(first, answer.message)

    events = project.events(runs(project)[-1])
    texts = [event.guidance for event in events if isinstance(event, AttemptStarted)]
    assert texts == [("Use the old names.",)]


def test_the_new_run_is_there_as_soon_as_the_old_one_has_ended(project: Project) -> None:
    """A process that stops between the two leaves a run that anyone can resume, and no second one."""
    first, _ = _stopped_after(project, 1)

    following = next_of(project.facade.runtime, project.facade.run(first))
    assert following is not None
    assert (following.last_seq, following.status) == (0, "running")
    twin = project.other()
    drive(twin.facade, following.run)
    assert len(runs(project)) == 3


def _stopped_after(project: Project, number: int) -> tuple[RunId, object]:
    from podium.app.run.drive import Observer

    begun = project.begin(project.flow(SERIES, head=TEAM_OF_ONE + INPUTS, cast=CAST), {"upto": 3})
    left = [number]

    def follows(_: object) -> bool:
        left[0] -= 1
        return left[0] > 0

    observer = Observer(follows=follows)
    return begun.run, anyio.run(
        partial(project.facade.commands.drive, begun.run, park=True, observer=observer)
    )


def test_a_command_to_a_run_that_was_continued_names_the_new_run(project: Project) -> None:
    first, _ = _stopped_after(project, 1)

    with pytest.raises(ConfigurationError, match=f"run {first} has passed and continues as run {first}-2"):
        project.say(first, Cancel("ann"))


def test_the_files_of_a_run_are_kept_until_the_next_one_has_begun(project: Project) -> None:
    first, _ = _stopped_after(project, 1)
    later = Millis(10**15)
    assert preview(project.facade, before=later, unlanded=True) == ()

    project.resume(RunId(f"{first}-2"))
    assert len(preview(project.facade, before=later, unlanded=True)) == 3
    refs = git(project.root, "for-each-ref", "--format=%(refname)", f"refs/podium/{first}-2/start")
    assert refs == f"refs/podium/{first}-2/start/1"


def test_verify_notices_another_run_in_the_place_of_the_one_before(project: Project) -> None:
    first, _ = project.run(project.flow(SERIES, head=TEAM_OF_ONE + INPUTS, cast=CAST), {"upto": 3})
    last = RunId(f"{first}-3")
    events = project.facade.runtime.events(RunId(f"{first}-2"))
    store = project.store
    head = store.head(RunId(f"{first}-2"))
    assert head is not None
    store.forget(head.run)
    check = project.facade.queries.verify(last)
    assert (check.fault, check.deleted) == (
        "the log knows nothing of run " + f"{first}-2, and its folder is there", f"{first}-2"
    )  # fmt: skip

    store.create(head)
    epoch = store.claim(head.run)
    pairs = [(record.type, record.body) for record in events]
    store.append(head.run, pairs, after=0, epoch=epoch, cause="forged", status="passed")
    fault = project.facade.queries.verify(last).fault
    assert (
        fault
        == f"run {head.run}, before it in the series, does not end with the event that the next run names"
    )


def test_an_exported_series_can_be_checked_without_the_project(project: Project) -> None:
    first, _ = project.run(project.flow(SERIES, head=TEAM_OF_ONE + INPUTS, cast=CAST), {"upto": 3})
    folder = project.root.parent / "evidence"
    exported = project.facade.commands.export_series(first, folder)

    assert [done.run for done in exported] == runs(project)
    assert [checked.fault for checked in check_any(folder)] == [None, None, None]
    assert all(not checked.notes for checked in check_any(folder))
    alone = project.root.parent / "alone"
    project.facade.commands.export(RunId(f"{first}-2"), alone)
    (checked,) = check_any(alone)
    assert checked.fault is None
    assert checked.notes[0].startswith(f"it continues run {first}, which is not here")


def test_a_failed_run_of_a_series_is_repeated_in_its_place(project: Project) -> None:
    """The repeated run has a name of its own and the same number; the series goes on from it."""
    failing = CAST + "- {match: {step: check}, exit: 1}\n"
    steps = SERIES.replace("  more:", '  check: {run: [test, "${{ run.number }}", -ne, "2"]}\n  more:')
    first, state = project.run(project.flow(steps, head=TEAM_OF_ONE + INPUTS, cast=failing), {"upto": 4})
    assert state.ended is not None
    assert state.ended.status == "failed"

    project.flow(steps.replace("-ne", "-ge"), head=TEAM_OF_ONE + INPUTS, cast=CAST)
    begun = start_rerun(project.facade, preview_rerun(project.facade, RunId(f"{first}-2")))
    drive(project.facade, begun.run)

    series = runs_of_series(project.facade.runtime, project.facade.run(begun.run))
    assert [head.run for head in series] == [
        first, begun.run, f"{begun.run}-3", f"{begun.run}-4"
    ]  # fmt: skip
    last = project.view(RunId(f"{begun.run}-4"))
    assert last.series is not None
    assert last.series.usd == 1_000_000, "the result that was reused is paid once"


def test_a_run_that_was_continued_is_not_the_one_that_is_resumed(project: Project) -> None:
    first, _ = _stopped_after(project, 1)

    assert project.facade.queries.newest_of_series(first) == f"{first}-2"


def test_the_source_of_a_continued_run_takes_over_no_results(project: Project) -> None:
    """A run that itself reused results must not hand these on: the next run would not work."""
    first, _ = project.run(project.flow(SERIES, head=TEAM_OF_ONE + INPUTS, cast=CAST), {"upto": 2})
    begun = start_rerun(project.facade, preview_rerun(project.facade, first))
    drive(project.facade, begun.run)

    head = project.facade.run(f"{begun.run}-2")
    assert json.loads(head.source)["past"] is None
    facts = started(project.events(head.run)).run
    assert (facts.continues, facts.reused) == ("", ())


def test_a_run_outside_of_git_continues_in_its_folder(tmp_path: object) -> None:
    from pathlib import Path

    project = Project(Path(str(tmp_path)) / "plain", repository=False)
    steps = """\
  work: {run: [sh, -c, 'echo "$0" >> log', "${{ run.number }}"], touches: [log]}
  more: {continue_as: new, when: run.number < 3, max: 9}
"""
    file = project.write("flow.yaml", f"{HEAD}steps:\n{steps}")
    _, state = project.run(file)

    assert state.ended is not None
    assert state.ended.status == "passed"
    assert (project.root / "log").read_text("utf-8").splitlines() == ["1", "2", "3"]


def test_text_from_outside_stays_marked_in_the_next_run(project: Project) -> None:
    """A value of `with` may have been made from it, so every input of the next run counts as text from outside."""
    first, _ = project.run(
        project.flow(SERIES, head=TEAM_OF_ONE + INPUTS, cast=CAST), {"upto": 2}, outside_inputs=("n",)
    )

    assert json.loads(project.facade.run(f"{first}-2").source)["outside_inputs"] == ["n", "upto"]
