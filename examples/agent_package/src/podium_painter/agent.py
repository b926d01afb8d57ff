"""What to start for the painter, and how to read what it prints: one JSON object per line."""

from collections.abc import Iterable, Mapping
from typing import Any

from podium.adapters.agents.shared.broker import DUMMY_KEY, URL, host_of, is_brokered, service
from podium.adapters.agents.shared.json_lines import JsonLines, read_answer
from podium.core.types import MicroUsd
from podium.credentials import key_names, missing
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, ProgramSpec, Progress, Usage
from podium.process.launch import Finished
from podium_painter import AGENT, COLOURS

API = "https://api.painter.example"


class Painter:
    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, "PainterOutput"]:
        (name,) = key_names(AGENT.credentials, request.config)
        key = request.env.get(name, "")
        program = ProgramSpec(
            argv=(
                str(request.config.get("command") or AGENT.program),
                f"--model={request.model or AGENT.model}",
                f"--colour={_colour(request)}",
                *(["--json"] if request.schema is not None else []),
            ),
            stdin=f"{request.system}\n\n{request.prompt}".encode(),
            # Inside a sandbox the broker has the key, and the program calls the broker.
            env={"PAINTER_KEY": DUMMY_KEY, "PAINTER_URL": URL}
            if is_brokered(request)
            else {"PAINTER_KEY": key},
            service=service(request, API, ("POST /v1/paint",), {"x-api-key": key}),
            network=() if is_brokered(request) else (host_of(API),),
            streams_progress=True,
        )
        return program, PainterOutput(request)


class PainterOutput:
    def __init__(self, request: AgentRequest) -> None:
        self._wants_value = request.schema is not None
        self._lacking = missing(AGENT.credentials, request.config, request.env)
        self._lines = JsonLines()
        self._answer: Mapping[str, Any] = {}

    def feed(self, data: bytes) -> Iterable[Progress]:
        return [seen for record in self._lines.feed(data) for seen in self._read(record)]

    def _read(self, record: Mapping[str, Any]) -> Iterable[Progress]:
        match record:
            case {"type": "file", "path": str(path)}:
                yield Progress("file", path)
            case {"type": "answer", "text": str(text)}:
                self._answer = record
                yield Progress("text", text)
            case _:
                pass

    def finish(self, finished: Finished) -> AgentResult:
        if finished.not_started is not None:
            return AgentResult(trouble="unavailable", detail=finished.not_started)
        if finished.timed_out:
            return AgentResult(trouble="timeout", detail="its time ran out")
        if finished.signal is not None:
            return AgentResult(trouble="transient", detail=f"ended by signal {finished.signal}")
        if finished.exit_code == 77:
            return AgentResult(trouble="auth", detail=self._lacking or "the key was not accepted")
        if finished.exit_code:
            return AgentResult(
                trouble="error", detail=f"exit code {finished.exit_code}: {finished.stderr.text()}"
            )
        if not self._answer:
            return AgentResult(trouble="malformed", detail="it ended without an answer")
        text = self._answer["text"]
        answer = read_answer(text, wants_value=self._wants_value)
        return AgentResult(text=text, **answer._asdict(), usage=self._usage(), cost=self._cost())

    def _usage(self) -> Usage:
        match self._answer:
            case {"tokens": [int(read), int(written)]}:
                return Usage(input=read, output=written)
            case _:
                return Usage()

    def _cost(self) -> MicroUsd | None:
        """None means unknown, which is not nothing."""
        usd = self._answer.get("usd")
        return MicroUsd(round(usd * 1_000_000)) if isinstance(usd, int | float) else None


def _colour(request: AgentRequest) -> str:
    colour = request.config.get("colour", COLOURS[0])
    if colour not in COLOURS:
        raise ConfigurationError(
            f"agents.{request.agent}.colour must be one of {', '.join(COLOURS)}, not {colour!r}"
        )
    return str(colour)
