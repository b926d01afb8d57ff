"""Passes guidance from people to the program of one attempt while it runs, if the program can take it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from podium.attempt.activity import prompt_lines
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.guidance_desk import WorkingAgent
from podium.attempt.launch import note
from podium.ports.agent import GuidedParser, OutputParser, ProgramSpec
from podium.process.launch import Launch, LiveInput
from podium.process.output import OnOutput, StreamName
from podium.redaction.scan import scrub
from podium.tasks.partials import render_partial

ANSWERED = "it has already answered"


class LiveProgram:
    """The input and output of a program that takes messages while it works."""

    def __init__(
        self, attempt: AgentAttempt, parser: GuidedParser, first: bytes, on_output: OnOutput
    ) -> None:
        self._attempt = attempt
        self._parser = parser
        self._on_output = on_output
        self._input = LiveInput(first)
        self.agent: WorkingAgent | None = None

    def attach(self, launch: Launch) -> Launch:
        return replace(launch, stdin=self._input)

    def send(self, text: str) -> str:
        """Why the text cannot be passed on; empty if it was."""
        if self._input.is_closed:
            return ANSWERED
        attempt = self._attempt
        if not attempt.work.config.record.get("prompts", True):
            attempt.activity.hide(prompt_lines(text))
        prompt = render_partial(attempt.work.config, "guidance", {"guidance": (text,)})
        self._input.send(self._parser.guide(text, scrub(attempt.host.mask.text(prompt)).text.strip()))
        return ""

    def on_output(self, stream: StreamName, data: bytes) -> None:
        self._on_output(stream, data)
        for text in self._parser.passed_on():
            self._confirm(text)
        if self._parser.has_answered:
            self._input.close()

    def _confirm(self, text: str) -> None:
        assert self.agent is not None
        by = self.agent.offered[text]
        self._attempt.activity.report([note(f'has got guidance{f" from {by}" if by else ""}: "{text}"')])
        self._attempt.exchange.guidance += (text,)
        self._attempt.host.guidance.confirm(self.agent, text)


@contextmanager
def guided(
    attempt: AgentAttempt,
    worker: ResolvedAgent,
    program: ProgramSpec,
    parser: OutputParser,
    on_output: OnOutput,
) -> Iterator[LiveProgram | None]:
    """Pass guidance to the program while inside; None if it takes none, and then people are told so."""
    if not isinstance(parser, GuidedParser):
        with unguided(attempt, f"{worker.agent} takes no messages while it works"):
            yield None
        return
    live = LiveProgram(attempt, parser, program.stdin or b"", on_output)
    with attempt.host.guidance.working(attempt.started, live.send) as live.agent:
        yield live


def unguided(attempt: AgentAttempt, reason: str) -> AbstractContextManager[WorkingAgent]:
    """Refuse guidance while inside."""
    return attempt.host.guidance.working(attempt.started, lambda _: reason)
