"""`podium.refine`, the loop of a writer and a reviewer: turns, reasons, errors, and what does not count as approval."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

import podium
from podium.errors import AgentError, ConfigurationError, NotApproved

CAST = """
- {match: {step: draft, attempt: 1}, text: Drink green}
- {match: {step: draft/review/judge, attempt: 1}, text: SAID}
- {match: {step: draft, prompt: vague}, text: Save the seas}
- {match: {step: draft/review/judge, attempt: 2}, text: "Yes.\\nSHIP IT!"}
"""
PLAYER = {"type": "scripted", "script": "cast.yaml"}


def refine(
    tmp_path: Path, cast: str, *, max_turns: int = 5, phrase: str | None = "SHIP IT!"
) -> podium.Refinement:
    (tmp_path / "cast.yaml").write_text(cast)
    return podium.refine(
        PLAYER, PLAYER, "bottles", max_turns=max_turns, phrase=phrase, project=tmp_path, sandbox="none"
    )


@pytest.mark.parametrize(
    "said", ["Good rhythm but vague.", "It is vague. Do not ship it yet", "vague: I can't say SHIP IT! yet"]
)
def test_feedback_goes_to_the_writer_until_the_reviewer_approves(tmp_path: Path, said: str) -> None:
    """R050, R101, R102, R104, C3: only the exact last line approves."""
    done = refine(tmp_path, CAST.replace("SAID", f'"{said}"'))
    assert (done.reason, done.succeeded, done.final) == ("approved", True, "Save the seas")
    assert [(turn.number, turn.text, turn.feedback) for turn in done.turns] == [
        (1, "Drink green", said),
        (2, "Save the seas", None),
    ]
    assert done.duration > 0
    assert done.required() is done


def test_after_the_last_turn_the_latest_version_and_the_reason_are_returned(tmp_path: Path) -> None:
    """R103, C38: an error only if the caller asks for one."""
    done = refine(tmp_path, '- {match: {step: draft/review/judge}, text: "No."}\n', max_turns=2)
    assert (done.reason, len(done.turns), done.succeeded) == ("max_turns", 2, False)
    assert done.final == done.turns[-1].text
    with pytest.raises(NotApproved, match="2 turns"):
        done.required()


def test_an_agent_that_fails_is_a_reason_and_raises_only_on_request(tmp_path: Path) -> None:
    """R144."""
    done = refine(tmp_path, "- {match: {step: draft}, error: auth}\n")
    assert (done.reason, done.final, done.turns) == ("error", None, ())
    with pytest.raises(AgentError):
        done.required()


def test_without_a_phrase_a_typed_verdict_approves(tmp_path: Path) -> None:
    done = refine(tmp_path, "- {match: {step: draft/review/judge}, verdict: approve}\n", phrase=None)
    assert done.reason == "approved"


def test_unknown_agents_are_refused_at_once(tmp_path: Path) -> None:
    """R139."""
    with pytest.raises(ConfigurationError):
        podium.refine("nobody", "nobody", "bottles", project=tmp_path)


def test_async_callers_can_call_it_in_a_thread() -> None:
    call = partial(podium.refine, {"type": "scripted"}, {"type": "scripted"}, "bottles", sandbox="none")
    done = anyio.run(to_thread.run_sync, call)
    assert done.reason == "approved"


def test_an_unknown_name_of_the_package_raises_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = podium.nonsense
