"""Answer what a run asks: which question is meant, and which command an approval, a rejection or a value becomes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.app.decide.opened import opened_by
from podium.app.decide.presence import needs_proof
from podium.app.decide.sender import speaker_by
from podium.app.query.inbox import open_questions
from podium.app.query.runs import show
from podium.core.hash_chain import RunId
from podium.core.messages import Approve
from podium.errors import ConfigurationError
from podium.ports.runtime import ManualWorkDone
from podium.views.plain import one_line, short_id
from podium.views.run.labels import label_address, labels_in, native_address
from podium.views.run.view import Pending, RunView, StepView

if TYPE_CHECKING:
    from podium.app.project import Project

PLAIN: Final = ("approve",)
"""What a plain approval means; for a question of the engine itself, which offers several actions, it would be a guess."""

SHORTEST_TREE: Final = 7
"""How many characters of a tree's id a person has to give, so that two trees cannot be mixed up."""

NO: Final = ("reject", "fail", "halt", "abort")
RETRIES: Final = ("reject", "retry", "retry_different")
"""What a rejection with feedback means: the words are for the agent that does the work again."""
COMMAND: Final = "command"
"""How an answer came that was typed as a command of its own."""


class Answer(NamedTuple):
    """The command to the run, and a word for it."""

    message: Approve | ManualWorkDone
    word: str
    shown: str
    """The address of the step in the words of the author of the file."""

    def __str__(self) -> str:
        word = "approved" if self.word == "approve" else self.word
        return f"{self.shown}: {word} by {self.message.by}"


def approval(  # noqa: PLR0913  # one argument for each part of an answer
    project: Project,
    run: RunId,
    step: str | None,
    *,
    by: str,
    action: str | None = None,
    feedback: str = "",
    details: Mapping[str, str] | None = None,
    tree: str | None = None,
    how: str = COMMAND,
) -> Answer:
    """Approve, or take another action that the question offers; work by hand is reported as done.

    Details belong to a decision about the breaker: `retry_from`, `use_output`. `tree` is what the person looked at.
    """
    view = view_of(project, run)
    question = open_question(view, step, _is_asked)
    _check_seen(view, question, tree)
    if question.kind == "by_hand":
        return Answer(ManualWorkDone(question.path, by, feedback), action or "done", _shown(view, question))
    if "answer" in question.actions and (action is None or (action == "answer" and not feedback)):
        raise ConfigurationError(
            f"{_shown(view, question)} asks for a value: {question.question}",
            hint=f"podium answer VALUE {_place(view, question)}",
        )
    if action is None and question.actions[0] not in PLAIN:
        choices = ", ".join(question.actions)
        raise ConfigurationError(
            f"{_shown(view, question)} asks what to do: {question.question}",
            hint=f"podium approve {_place(view, question)} --action WORD, one of {choices}",
        )
    if details and question.kind != "advice":
        raise ConfigurationError(
            f"{_shown(view, question)} does not ask how to continue, so --from and --use do not apply",
            hint=f"podium approve {_place(view, question)}",
        )
    word = action or question.actions[0]
    _check_presence(view, question, word, by)
    value = {key: native_address(step, labels_in(view)) for key, step in (details or {}).items()} or None
    opened = opened_by(by, question.tree)
    approve = Approve(question.path, word, by, feedback, value, question.tree, how=how, opened=opened)
    return Answer(approve, word, _shown(view, question))


def rejection(
    project: Project,
    run: RunId,
    step: str | None,
    *,
    by: str,
    feedback: str = "",
    abort: bool = False,
    tree: str | None = None,
    how: str = COMMAND,
) -> Answer:
    view = view_of(project, run)
    noticed = None if abort else _passed_by_notice(view, step)
    if noticed is not None:
        veto = Approve(noticed.path, "reject", by, feedback, how=how)
        return Answer(veto, "vetoed", _shown(view, noticed))
    question = open_question(view, step, _is_asked)
    _check_seen(view, question, tree)
    shown = _shown(view, question)
    if question.kind == "by_hand":
        return Answer(ManualWorkDone(question.path, by, feedback, failed=True), "rejected", shown)
    words = ("abort", *NO) if abort else (*RETRIES, *NO) if feedback else NO
    action = next((word for word in words if word in question.actions), None)
    if action is None:
        raise ConfigurationError(
            f"{shown} is a question with the answers {', '.join(question.actions)}",
            hint=f"podium approve {_place(view, question)} --action WORD",
        )
    reject = Approve(question.path, action, by, feedback, None, question.tree, how=how)
    return Answer(reject, "rejected", shown)


def _passed_by_notice(view: RunView, step: str | None) -> StepView | None:
    """The newest visit of a step that passed without an answer: rejecting it is a veto, if it was a notice."""
    step = None if step is None else native_address(step, labels_in(view))
    if step is None or any(step in (each.path, _name(each.path)) for each in view.pending):
        return None
    named = [each for each in view.steps if step in (each.path, _name(each.path))]
    return named[-1] if named and named[-1].outcome == "passed" else None


def value_answer(
    project: Project,
    run: RunId,
    step: str | None,
    *,
    by: str,
    value: Any,
    tree: str | None = None,
    how: str = COMMAND,
) -> Answer:
    """The value that a question asks for, or the result of work by hand."""
    view = view_of(project, run)
    question = open_question(view, step, _takes_value)
    _check_seen(view, question, tree)
    shown = _shown(view, question)
    if question.kind == "by_hand":
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return Answer(ManualWorkDone(question.path, by, text, value), "answered", shown)
    _check_presence(view, question, "answer", by)
    return Answer(Approve(question.path, "answer", by, "", value, question.tree, how=how), "answered", shown)


def _check_presence(view: RunView, question: Pending, action: str, by: str) -> None:
    """Raises where only a browser can give the proof that the run will ask for."""
    if question.presence and needs_proof(action):
        raise ConfigurationError(
            f"{_shown(view, question)} needs the proof that {by} is present: a passkey, which only a browser can ask for",
            hint="podium ui opens the question there; rejecting needs no passkey",
            code="presence",
        )


def waiting_run(project: Project, *, for_value: bool = False) -> RunId | None:
    """The only run that waits for a person, with `for_value` for a value; None if there is none.

    Raises with all questions if several runs wait.
    """
    meant = _takes_value if for_value else _is_asked
    questions = [each for each in open_questions(project) if meant(each.pending)]
    runs = list(dict.fromkeys(each.view.run for each in questions))
    if len(runs) > 1:
        lines = "".join(
            f"\n  {_place(each.view, each.pending)}: {one_line(each.pending.question, 80)}"
            for each in questions
        )
        raise ConfigurationError(
            f"{len(runs)} runs wait for an answer:{lines}",
            hint=f"name one: podium {'answer VALUE' if for_value else 'approve'} {runs[0]}",
        )
    return RunId(runs[0]) if runs else None


def _takes_value(pending: Pending) -> bool:
    return "answer" in pending.actions or pending.kind == "by_hand"


def speaker(by: str | None = None) -> str:
    """The name to record: as given, from $PODIUM_USER, or the login name."""
    return speaker_by("cli", by).name


def view_of(project: Project, run: RunId) -> RunView:
    return show(project, project.run(run))


def open_question(view: RunView, step: str | None, is_meant: Callable[[Pending], bool]) -> Pending:
    """The question that is meant; without a name there must be exactly one."""
    pending, run = view.pending, view.run
    candidates = [each for each in pending if is_meant(each)]
    if step is not None:
        path = native_address(step, labels_in(view))
        named = [each for each in candidates if path in _names(each.path)]
        if len(named) == 1:
            return named[0]
        if not named:
            _check_kind([each for each in pending if path in _names(each.path)], view)
            raise ConfigurationError(
                f'"{step}" of run {run} does not wait for an answer',
                hint=_list(candidates, view),
                code="not_waiting",
            )
        candidates = named
    if not candidates:
        _check_kind(pending, view)
        raise ConfigurationError(
            f"run {run} is not waiting for an answer", hint=f"see: podium show {run}", code="not_waiting"
        )
    if len(candidates) > 1:
        raise ConfigurationError(
            f"run {run} waits for several answers; name one", hint=_list(candidates, view)
        )
    return candidates[0]


def _check_seen(view: RunView, question: Pending, tree: str | None) -> None:
    """Raises if a person looked at another tree than the one that the question is about now."""
    if tree is None:
        return
    if question.tree is None:
        raise ConfigurationError(
            f"{_shown(view, question)} asks about no files, so --tree does not apply",
            hint=f"podium inbox shows what {view.run} asks",
        )
    if len(tree) < SHORTEST_TREE or not question.tree.startswith(tree):
        raise ConfigurationError(
            f"the files changed after you looked at {_shown(view, question)}: it is about tree "
            f"{short_id(question.tree)} now, not {short_id(tree)}",
            hint=f"look again: podium diff {_place(view, question)}",
            code="stale",
        )


def _check_kind(others: Sequence[Pending], view: RunView) -> None:
    """Raises for a value where the question offers actions instead."""
    question = next((each for each in others if each.actions), None)
    if question is not None:
        choices = ", ".join(question.actions)
        raise ConfigurationError(
            f"{_shown(view, question)} asks for no value, but for one of {choices}: {question.question}",
            hint=f"podium approve {_place(view, question)} --action WORD",
        )


def _place(view: RunView, pending: Pending) -> str:
    """Quoted for a shell: the addresses of the engine's own questions contain a `#`."""
    return f"{view.run} {shlex.quote(_shown(view, pending))}"


def _shown(view: RunView, place: Pending | StepView) -> str:
    return label_address(place.path, labels_in(view))


def _is_asked(pending: Pending) -> bool:
    return bool(pending.actions) or pending.kind == "by_hand"


def _name(path: str) -> str:
    return path.rpartition("/")[2].partition("~")[0]


def _names(path: str) -> tuple[str, ...]:
    """How a person may name a question: by its address, its last part, or the step whose gate it is."""
    step, sign, gate = path.rpartition("#")
    is_gate = bool(sign) and not gate.partition("/")[2].startswith("!")
    return (path, _name(path), *((step, _name(step)) if is_gate else ()))


def _list(pending: list[Pending], view: RunView) -> str:
    return (
        "it waits at: " + ", ".join(_shown(view, each) for each in pending)
        if pending
        else "it waits for no answer"
    )
