"""Random worlds for tests: the simulator's world, with people who try every action."""

from __future__ import annotations

from dataclasses import replace

from podium.core.events import ApprovalAsked, AttemptEnded, AttemptStarted, WaitStarted
from podium.core.messages import Approve, Signal
from podium.core.model import Wait
from podium.core.queries.graph import actions_of
from podium.core.state import State
from podium.core.types import TO_A_PERSON, Millis
from podium.simulate.random_world import RandomWorld
from podium.simulate.world import DelayedReport

MINUTE = 60_000
STOPS = ("halt", "dump_context")


class Wild(RandomWorld):
    """Answers the engine's own questions with any action, and sends signals as signals."""

    def person(self, asked: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        later = super().person(asked, state, number)
        if later is None or not isinstance(later.message, Approve):
            return later
        message = later.message
        actions = actions_of(state.instances[asked.path].place.step)
        action = message.action
        if actions[0] not in ("approve", "answer"):
            action = actions[int(self._draw(f"{asked.path}:{number}", "wild") * len(actions))]
            about = state.instances[asked.path].place.topic
            if action == "retry_different" and about.removeprefix(TO_A_PERSON) == "complete":
                action = "proceed"  # At the end of a run this action would need the name of a step.
        # Some people who reject have approved before.
        is_other_mind = action in ("reject", "abort") and self._draw(f"{asked.path}:{number}", "mind") < 0.5
        by = f"person{number or 1}" if is_other_mind else f"person{number + 1}"
        return DelayedReport(later.after, Approve(asked.path, action, by, message.text, message.answer))

    def wait(self, asked: WaitStarted, state: State) -> DelayedReport | None:
        verb = state.instances[asked.path].place.step.verb
        if isinstance(verb, Wait) and verb.what == "signal":
            after = Millis(1_000 + int(self._draw(asked.path, "signal") * 90 * MINUTE))
            return DelayedReport(after, Signal(verb.detail["signal"], {"n": 1}, "ci"))
        return super().wait(asked, state)


class Lenient(Wild):
    """People and advisors who never end the run because of one part of it."""

    def person(self, asked: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        later = super().person(asked, state, number)
        if later is None or not isinstance(later.message, Approve):
            return later
        message = later.message
        goes_on = message.action not in STOPS
        return later if goes_on else DelayedReport(later.after, replace(message, action="force_complete"))

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        later = super().attempt(asked, state)
        ended = later.message
        output = (ended.result or {}).get("output") if isinstance(ended, AttemptEnded) else None
        if (
            not isinstance(ended, AttemptEnded)
            or not isinstance(output, dict)
            or output.get("action") not in STOPS
        ):
            return later
        return DelayedReport(later.after, replace(ended, result={"output": {"action": "force_complete"}}))


class Stubborn(Wild):
    """People who always ask for one more try."""

    def person(self, asked: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        later = super().person(asked, state, number)
        actions = actions_of(state.instances[asked.path].place.step)
        if later is None or not isinstance(later.message, Approve) or actions[0] in ("approve", "answer"):
            return later
        return DelayedReport(later.after, Approve(asked.path, actions[0], later.message.by, "again"))


class Dry(Wild):
    """A world in which every quota is used up and never resets."""

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        return DelayedReport(Millis(1_000), AttemptEnded(Millis(0), asked.path, asked.attempt, "quota"))
