"""Builds the work of an agent: the excerpt of the workflow, the feedback, and the work to review."""

from __future__ import annotations

from podium.core.model import Agent
from podium.core.queries.graph import workflow_of
from podium.core.queries.rebases import tree_at_start
from podium.core.queries.tool_calls import decisions_of
from podium.core.state import Leaf, State
from podium.tasks.advice import situation_of
from podium.tasks.earlier_outputs import outputs_before
from podium.tasks.excerpt import excerpt_of
from podium.tasks.feedback import feedback_of
from podium.tasks.review import review_of, shown_to_judge
from podium.tasks.task import AdviceContext, AgentWork, PreviousAnswer
from podium.tasks.teams import notes_of, team_work_of


def agent_work_of(leaf: Leaf, state: State) -> AgentWork:
    place = leaf.place
    assert isinstance(place.step.verb, Agent)
    shown = shown_to_judge(state, leaf) if place.step.verb.judge else frozenset()
    return AgentWork(
        excerpt=excerpt_of(state, leaf),
        config=workflow_of(state, place).config,
        outputs=() if place.role == "advice" else outputs_before(state, leaf, shown),
        run_start=tree_at_start(state),
        run_branch="" if state.started is None else state.started.run.branch,
        feedback=feedback_of(state, leaf),
        review=review_of(state, leaf) if place.step.verb.judge else None,
        advice=_advice(state, leaf) if place.role == "advice" else None,
        previous=_previous(leaf),
        team=team_work_of(state, leaf),
        notes=notes_of(state, leaf),
        decisions=tuple(decisions_of(state, leaf)),
    )


def _advice(state: State, leaf: Leaf) -> AdviceContext:
    place = leaf.place
    situation = situation_of(state, state.instances[place.parent])
    return AdviceContext(place.parent or "the workflow", place.topic, situation)


def _previous(leaf: Leaf) -> PreviousAnswer | None:
    answer = leaf.answer
    if answer is None or answer.result is None:
        return None
    return PreviousAnswer(str(answer.result.get("text") or ""), answer.tree)
