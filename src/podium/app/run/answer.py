"""Answer what a run asks: which question is meant, and what a yes, a no or a value amounts to."""

from __future__ import annotations

import getpass
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.app.query.runs import show
from podium.core.hash_chain import RunId
from podium.core.messages import Approve
from podium.errors import ConfigurationError
from podium.ports.runtime import ManualWorkDone
from podium.views.run.view import Pending, RunView, StepView

if TYPE_CHECKING:
    from podium.app.project import Project

PLAIN: Final = ("approve",)
"""What a plain yes means; where the engine itself asks, a yes to one of several ways on would be a guess."""

NO: Final = ("reject", "fail", "halt", "abort")


class Answer(NamedTuple):
    """What is said to the run, and the word for it."""

    message: Approve | ManualWorkDone
    word: str

    def __str__(self) -> str:
        return f"{self.message.path}: {self.word} by {self.message.by}"


def approval(
    project: Project,
    run: RunId,
    step: str | None,
    *,
    by: str,
    action: str | None = None,
    feedback: str = "",
    details: Mapping[str, str] | None = None,
) -> Answer:
    """Yes, or another of the actions that the question offers. Work by hand is done.

    Details are those of a decision about the breaker: `retry_from`, `use_output`.
    """
    asked = open_question(view_of(project, run).pending, step, _is_asked, run)
    if asked.kind == "by_hand":
        return Answer(ManualWorkDone(asked.path, by, feedback), action or "done")
    if "answer" in asked.actions and (action is None or (action == "answer" and not feedback)):
        raise ConfigurationError(
            f"{asked.path} asks for a value: {asked.question}",
            hint=f"podium answer VALUE {_place(run, asked)}",
        )
    if action is None and asked.actions[0] not in PLAIN:
        choices = ", ".join(asked.actions)
        raise ConfigurationError(
            f"{asked.path} asks what to do: {asked.question}",
            hint=f"podium approve {_place(run, asked)} --action WORD, one of {choices}",
        )
    if details and asked.kind != "advice":
        raise ConfigurationError(
            f"{asked.path} does not ask how to go on, so --from and --use say nothing here",
            hint=f"podium approve {_place(run, asked)}",
        )
    word = action or asked.actions[0]
    return Answer(
        Approve(asked.path, word, by, feedback, dict(details) if details else None, asked.tree), word
    )


def rejection(
    project: Project, run: RunId, step: str | None, *, by: str, feedback: str = "", abort: bool = False
) -> Answer:
    view = view_of(project, run)
    noticed = None if abort else _noticed(view, step)
    if noticed is not None:
        return Answer(Approve(noticed.path, "reject", by, feedback), "vetoed")
    asked = open_question(view.pending, step, _is_asked, run)
    if asked.kind == "by_hand":
        return Answer(ManualWorkDone(asked.path, by, feedback, failed=True), "rejected")
    wanted = ("abort", *NO) if abort else NO
    action = next((word for word in wanted if word in asked.actions), None)
    if action is None:
        raise ConfigurationError(
            f"{asked.path} is a question with the answers {', '.join(asked.actions)}",
            hint=f"podium approve {_place(run, asked)} --action WORD",
        )
    return Answer(Approve(asked.path, action, by, feedback, None, asked.tree), "rejected")


def _noticed(view: RunView, step: str | None) -> StepView | None:
    """The newest visit of a step that passed without waiting for anybody: a no to it is a veto, if it was a notice."""
    if step is None or any(step in (each.path, _name(each.path)) for each in view.pending):
        return None
    named = [each for each in view.steps if step in (each.path, _name(each.path))]
    return named[-1] if named and named[-1].outcome == "passed" else None


def value_given(project: Project, run: RunId, step: str | None, *, by: str, value: Any) -> Answer:
    """The value that a question asks for, or the result of work by hand."""
    asked = open_question(
        view_of(project, run).pending,
        step,
        lambda each: "answer" in each.actions or each.kind == "by_hand",
        run,
    )
    if asked.kind == "by_hand":
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return Answer(ManualWorkDone(asked.path, by, text, value), "answered")
    return Answer(Approve(asked.path, "answer", by, "", value, asked.tree), "answered")


def speaker(by: str | None = None) -> str:
    """Who answers: as said, as the environment says, or the user of this machine."""
    return by or os.environ.get("PODIUM_USER") or getpass.getuser()


def view_of(project: Project, run: RunId) -> RunView:
    return show(project, project.run(run))


def open_question(
    pending: tuple[Pending, ...], step: str | None, wanted: Callable[[Pending], bool], run: str
) -> Pending:
    """The question that is meant; without a name there must be exactly one."""
    open_ones = [each for each in pending if wanted(each)]
    if step is not None:
        named = [each for each in open_ones if each.path == step or _name(each.path) == step]
        if len(named) == 1:
            return named[0]
        if not named:
            _check_kind([each for each in pending if step in (each.path, _name(each.path))], run)
            raise ConfigurationError(
                f'"{step}" of run {run} does not wait for an answer', hint=_list(open_ones)
            )
        open_ones = named
    if not open_ones:
        _check_kind(pending, run)
        raise ConfigurationError(f"run {run} is not waiting for an answer", hint=f"see: podium show {run}")
    if len(open_ones) > 1:
        raise ConfigurationError(f"run {run} waits for several answers; name one", hint=_list(open_ones))
    return open_ones[0]


def _check_kind(others: Sequence[Pending], run: str) -> None:
    """Refuses a value for what is asked otherwise: it does wait for somebody."""
    asked = next((each for each in others if each.actions), None)
    if asked is not None:
        choices = ", ".join(asked.actions)
        raise ConfigurationError(
            f"{asked.path} asks for no value, but for one of {choices}: {asked.question}",
            hint=f"podium approve {_place(run, asked)} --action WORD",
        )


def _place(run: str, pending: Pending) -> str:
    """As a shell has to be given it: the engine's own questions have a `#` in their address."""
    return f"{run} {shlex.quote(pending.path)}"


def _is_asked(pending: Pending) -> bool:
    return bool(pending.actions) or pending.kind == "by_hand"


def _name(path: str) -> str:
    return path.rpartition("/")[2].partition("~")[0]


def _list(pending: list[Pending]) -> str:
    return "it waits at: " + ", ".join(each.path for each in pending) if pending else "it waits for nobody"
