"""`podium.refine`, the loop of a writer and a reviewer: turns, reasons, errors, and what does not count as approval."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest

import podium
from podium.errors import AgentError, ConfigurationError, NotApproved
from podium.testing.models.server import ModelServer, Rule

CAST = """
- {match: {step: draft, attempt: 1}, text: "Drink green\\n"}
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


def test_async_callers_await_it() -> None:
    call = partial(podium.refine_async, {"type": "scripted"}, {"type": "scripted"}, "bottles", sandbox="none")
    done = anyio.run(call)
    assert done.reason == "approved"


@pytest.mark.req("R104")
@pytest.mark.parametrize(
    ("said", "approves"),
    [
        ("Perfect! SHIP IT! Great work.", True),
        ("ship it", True),
        ("Ship It.", True),
        ("This needs work on shipping", False),
    ],
)
def test_anywhere_selects_the_rule_of_loops_that_search_for_the_words(
    tmp_path: Path, said: str, *, approves: bool
) -> None:
    (tmp_path / "cast.yaml").write_text(f'- {{match: {{step: draft/review/judge}}, text: "{said}"}}\n')
    done = podium.refine(
        PLAYER,
        PLAYER,
        "bottles",
        max_turns=1,
        phrase="SHIP IT!",
        approve="anywhere",
        project=tmp_path,
        sandbox="none",
    )
    assert done.succeeded is approves


@pytest.mark.req("R082", "R102")
def test_without_agents_it_is_a_local_model_with_the_usual_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_MAX_TURNS", "2")
    with ModelServer(Rule(match="review this", text="No."), Rule(text="Drink green")) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        done = podium.refine(None, None, "bottles", phrase="SHIP IT!", project=tmp_path, sandbox="none")
        bodies = [request.body for request in server.requests]

    assert (done.reason, done.max_turns, done.turn_count) == ("max_turns", 2, 2)
    assert {body["model"] for body in bodies} == {"mistral:latest"}
    assert bodies[0]["options"]["temperature"] == 0.7
    assert bodies[0]["options"]["num_predict"] == 100
    assert done.model == "mistral:latest"
    turn = done.turns[0]
    assert (turn.writer_model, turn.reviewer_model) == ("mistral:latest", "mistral:latest")
    assert 0 < turn.writer_s + turn.reviewer_s <= done.duration


@pytest.mark.req("R082")
def test_the_environment_and_the_call_choose_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_MODEL_NAME", "gemma2:2b")
    monkeypatch.setenv("OLLAMA_TEMPERATURE", "0.1")
    with ModelServer(Rule(match="review this", text="SHIP IT!"), Rule(text="Drink")) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        chosen = partial(
            podium.refine, None, None, "bottles", phrase="SHIP IT!", project=tmp_path, sandbox="none"
        )
        assert chosen().model == "gemma2:2b"
        assert chosen(model="llama3.2:latest").model == "llama3.2:latest"
        assert server.requests[0].body["options"]["temperature"] == 0.1


def test_a_missing_model_has_an_error_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(Rule(status=404)) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        done = podium.refine(None, None, "bottles", project=tmp_path, sandbox="none")

    assert done.reason == "error"
    with pytest.raises(podium.ModelNotFoundError, match="ollama pull mistral:latest"):
        done.required()
    assert issubclass(podium.ModelNotFoundError, podium.WorkflowError)
    assert podium.ApprovalTimeoutError is podium.NotApproved


@pytest.mark.parametrize("turns", ["0", "many"])
def test_a_wrong_number_of_turns_is_refused(monkeypatch: pytest.MonkeyPatch, turns: str) -> None:
    monkeypatch.setenv("OLLAMA_MAX_TURNS", turns)
    with pytest.raises(ConfigurationError, match="OLLAMA_MAX_TURNS"):
        podium.refine(None, None, "bottles")
    with pytest.raises(ConfigurationError, match="needs a phrase"):
        podium.refine("claude", "claude", "bottles", max_turns=2, approve="anywhere")


def test_an_unknown_name_of_the_package_raises_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = podium.nonsense
