"""The rows of questions and answers, and how often people had to act."""

from __future__ import annotations

from collections.abc import Iterator

from podium.core import events
from podium.core.events import Event
from podium.core.types import Address
from podium.views.history.rows import AnswerRow, QuestionRow


class PeopleReader:
    """Feed it the events of one run in order, with their numbers."""

    def __init__(self) -> None:
        self.answers: list[AnswerRow] = []
        self.touched = 0
        self._questions: dict[Address, QuestionRow] = {}
        self._answered: set[Address] = set()

    def take(self, seq: int, event: Event) -> None:
        match event:
            case events.ApprovalAsked():
                name = event.path.rpartition("/")[2].partition("~")[0]
                about = name if name.startswith("!") else "approval"
                self._questions[event.path] = QuestionRow(
                    event.path, about.removeprefix("!"), event.level, event.at, None, None, 0, event.tree
                )
            case events.ApprovalGiven():
                self._answer(seq, event)
            case events.StepEnded(path=path) if path in self._questions:
                silent = int(path not in self._answered)
                self._questions[path] = self._questions[path]._replace(
                    ended=event.at, outcome=event.outcome, silent=silent
                )
            case (
                events.GuidanceGiven()
                | events.JumpAsked()
                | events.LimitRaised()
                | events.AttemptTaken()
                | events.SignalReceived()
            ):
                self.touched += 1
            case _:
                pass

    def _answer(self, seq: int, event: events.ApprovalGiven) -> None:
        self._answered.add(event.path)
        if event.reused:
            return
        self.touched += 1
        self.answers.append(
            AnswerRow(
                event.path, seq, event.at, event.action, event.by or None, event.tree, event.how or None
            )
        )

    @property
    def asked_people(self) -> int:
        return sum(question.level == "human" for question in self._questions.values())

    def asked_at(self, path: str) -> bool:
        return Address(path) in self._questions

    def questions(self) -> Iterator[QuestionRow]:
        yield from self._questions.values()
