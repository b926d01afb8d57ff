"""Every way in which a real program fails: told apart, decided right, in bounded time, nothing left and nothing lost.

Each fault strikes after one good call, so that there is something to lose. The table is printed at the end of the tests;
`make faults` keeps it in docs/reference/agent-faults.md.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from podium.core.events import AttemptEnded, AttemptQueued, AttemptStarted, RetryScheduled, StepEnded
from podium.core.state import State
from podium.testing.models.server import ModelServer, Rule, Tokens
from tests.attempt.runs import Played
from tests.e2e import kit as e2e
from tests.live.conftest import Row, rows
from tests.live.faults import AGAIN, ALL, FAULTS, NEXT, OTHER, REPAIR, WINDOW, Fault
from tests.live.kit import KEY, PROGRAMS, Live, Program, play, small_project, survivors
from tests.live.programs import found
from tests.timing import best_of

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

FIRST = Tokens(input=170, output=50, cached=30)
BOUND_S = 60


class Once(Live):
    """Performs the first attempt only: what the core asks for then is all that matters."""

    async def _agent(self, asked: AttemptStarted, state: State) -> AttemptEnded:
        if self.took:
            return AttemptEnded(asked.at, asked.path, asked.attempt, "error", "over", tree=asked.start)
        return await super()._agent(asked, state)


def rules(program: Program, fault: Fault, outside: Path) -> tuple[Rule, ...]:
    denied = program.writes("src/x.py", "x") if program.name != "codex" else program.runs(f"touch {outside}")
    tool = denied if fault.action == NEXT and fault.reason == "no_change" else program.runs("true")
    good = Rule(match=lambda asked: asked.results == 0, tools=[tool], usage=FIRST, times=1)
    later = [program.runs(f"echo {number}") for number in range(len(fault.rule.tools))]
    return good, replace(fault.rule, tools=later)


def action(played: Played) -> str:
    """What the core decided about the first attempt."""
    after = played.events[played.events.index(played.answers("it")[0]) + 1 :]
    decided = next(
        e for e in after if isinstance(e, AttemptQueued | RetryScheduled | StepEnded) and e.path == "it"
    )
    match decided:
        case RetryScheduled(why="transient"):
            return AGAIN
        case RetryScheduled(why="quota"):
            return WINDOW
        case AttemptQueued(why="repair"):
            return REPAIR
        case AttemptQueued(why="counted"):
            return NEXT
        case StepEnded(outcome="error"):
            return OTHER
        case _:
            return type(decided).__name__


@pytest.mark.req("R063", "R136", "R137", "R139", "R207")
@pytest.mark.parametrize(("name", "what"), ALL)
def test_each_fault_is_told_apart_and_nothing_of_it_is_left_or_lost(
    name: str, what: str, tmp_path: Path
) -> None:
    def seconds(chance: int) -> float:
        if chance > 1:
            rows.pop()  # The table has a row for each fault.
        return struck(name, what, tmp_path / str(chance))

    best_of(3, seconds, under=BOUND_S)


def struck(name: str, what: str, folder: Path) -> float:
    program, fault = PROGRAMS[name], FAULTS[what].of(name)
    project = small_project(folder, program)
    flow = program.work.replace("timeout: 60s", f"timeout: 120s{fault.step}")
    url = "http://127.0.0.1:9" if fault.refused else None
    outside = folder / "outside"
    with ModelServer(*rules(program, fault, outside)) as server:
        live, played = play(
            program,
            project,
            folder,
            flow,
            server,
            settings=fault.settings,
            base_url=url,
            recovers=False,
            live=Once,
        )

    first = played.answers("it")[0]
    result: dict[str, Any] = dict(first.result or {})
    (took, calls), message = live.took[0], str(result.get("message", ""))
    rows.append(Row(name, what, first.kind, first.reason, action(played), took, calls, used(first), message))
    assert (first.kind, first.reason, action(played)) == (fault.kind, fault.reason, fault.action), result
    assert fault.words in message and message and not message.startswith("{"), message
    assert (first.retry_at is not None) == (name in fault.resets)
    assert survivors() == []
    assert not outside.exists()
    if not fault.refused:
        # What was used is counted, or it is said that it is not known; never that it was nothing.
        assert result["usage"]["input"] >= FIRST.input or not first.cost_known
    return took


def used(end: AttemptEnded) -> str:
    told = dict((end.result or {}).get("usage") or {})
    if any(told.values()):
        return f"{told['input']} in, {told['cached']} cached, {told['output']} out"
    return "nothing" if end.cost_known else "unknown"


def has_started(work: Path) -> bool:
    with suppress(OSError):  # folders come and go
        return any(work.rglob("src/started"))
    return False


@pytest.mark.req("R141")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_that_is_cancelled_while_a_tool_runs_leaves_nothing(name: str, tmp_path: Path) -> None:
    program, started = PROGRAMS[name], "src/started"
    tool = program.runs(f"touch {started}; setsid sleep 987 & sleep 987")
    with ModelServer(Rule(tools=[tool], usage=FIRST)) as server:
        own = f"command: {found(name)}, base_url: '{server.url}{program.path}'{program.settings}"
        flow = f"podium: 1\nname: flow\nagents: {{{name}: {{{own}}}}}\n{program.work}\n"
        files = {"flow.yaml": flow, "src/app.py": "x = 1\n"}
        with e2e.closing(e2e.new_project(tmp_path / "p", files)) as project:
            project.env[program.key] = KEY
            child = project.start("run", "flow.yaml", "--sandbox", "limits", "--no-human")
            work = project.cache / "podium/work"
            project.while_running(child, lambda: has_started(work), "the tool")
            project.podium("cancel", project.run_id())

            assert e2e.until_exit(child) != 0
            ends = [e for e in project.events(project.run_id()) if e["type"] == "AttemptEnded"]
            assert [end["kind"] for end in ends] == ["cancelled"]
            left = [*project.marked(), *project.inhabitants(), *project.leftovers()]
            message = (ends[0].get("result") or {}).get("message", "")
            rows.append(
                Row(
                    name,
                    "cancel while a tool runs",
                    "cancelled",
                    "",
                    "the run ends",
                    0,
                    1,
                    "unknown",
                    message,
                )
            )
            assert left == []
