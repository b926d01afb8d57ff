"""The contract of agent adapters: subclass it and set `agent_type`, `config` and `broken`; pytest runs the suite.

    class TestMine(AgentContract):
        agent_type = AGENT

        def config(self, project: Path) -> Mapping[str, Any]:
            return {"command": str(stand_in(project))}

        def broken(self, project: Path) -> Mapping[str, Any]:
            return {"effort": "turbo"}

For an agent that is a service, use `podium.testing.service_agent_contract`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

import anyio
import pytest

from podium.core.expressions.values import plain_json
from podium.credentials import key_names
from podium.errors import ConfigurationError
from podium.ports.agent import (
    Agent,
    AgentRequest,
    AgentResult,
    AgentTrouble,
    GuidedParser,
    OutputParser,
    ProgramSpec,
    Progress,
)
from podium.ports.agent_type import AgentType
from podium.process.environment import minimal_env
from podium.process.launch import Finished, Launch, LiveInput
from podium.process.output import CapturedOutput, StreamName
from podium.process.run import run
from podium.workflow.agent_keys import faults_of
from podium.workflow.schema.scalars import NAME

PROMPT: Final = "Paint the shed 7391 blue."
SYSTEM: Final = "You are painter 5517."
SCHEMA: Final = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
GARBAGE: Final = (
    b"\x00\xff\xfe garbage \x80",
    b"{",
    b'{"type": "answer", "text": "half',
    b"null\n",
    b"[]\n[]\n",
    b'{"type": 3}\n{"text": null}\n',
    b"[" * 5000,
    b"\n\n\n",
)
OUTSIDE: Final = ("open", "os.", "subprocess.", "socket.", "shutil.", "tempfile.")
"""Prefixes of the audit events by which a process accesses anything outside itself."""


class AgentContract:
    agent_type: AgentType
    """The registration of the agent."""

    def make(self) -> Agent:
        adapter = self.agent_type.new_adapter()
        assert isinstance(adapter, Agent), f"{self.agent_type.make} has no prepare()"
        return adapter

    def config(self, project: Path) -> Mapping[str, Any]:
        """Settings with which the agent answers any request without a network; may write files into the project."""
        raise NotImplementedError

    def broken(self, project: Path) -> Mapping[str, Any]:
        """Invalid settings."""
        raise NotImplementedError

    def env(self) -> Mapping[str, str]:
        """Its part of the user's environment: values for the variables of its `credentials`."""
        return {}

    @pytest.fixture
    def request_(self, tmp_path: Path) -> AgentRequest:
        project, cwd, home = (tmp_path / name for name in ("project", "cwd", "home"))
        for folder in (project, cwd, home):
            folder.mkdir()
        return AgentRequest(
            agent="painter",
            config=self.config(project),
            path="paint",
            step="paint",
            visit=1,
            attempt=1,
            prompt=PROMPT,
            system=SYSTEM,
            nonce="4c1f",
            project=project,
            cwd=cwd,
            home=home,
            env=self.env(),
        )

    def test_its_registration_is_consistent(self, request_: AgentRequest) -> None:
        agent_type = self.agent_type

        assert NAME.fullmatch(agent_type.name), f"a workflow cannot name an agent {agent_type.name!r}"
        assert agent_type.program or not agent_type.tested, "`tested` is set, but there is no program"
        assert agent_type.capabilities.files, "an agent that is a program can change files"
        assert set(self.env()) <= set(key_names(agent_type.credentials, request_.config))
        assert isinstance(agent_type.new_adapter(), type(self.make()))
        capabilities = agent_type.capabilities
        assert all(key.meaning for key in capabilities.keys.values())
        config = {key: plain_json(value) for key, value in request_.config.items()}
        assert [*faults_of("painter", agent_type.name, capabilities, config)] == []

    def test_an_agent_with_sessions_leaves_session_files(self, request_: AgentRequest) -> None:
        """Continuity by a session means that the next attempt gets the session files of the last one."""
        program, _ = self.make().prepare(replace(request_, resumable=True))

        assert program.session_files or self.agent_type.capabilities.continuity != "session"

    def test_a_login_is_a_file_in_the_home_and_only_with_auth_login(self, request_: AgentRequest) -> None:
        needs = self.agent_type.credentials
        with_key, _ = self.make().prepare(replace(request_, login=b"token-4711"))
        assert with_key.login is None
        assert b"token-4711" not in with_key.files.values()
        if needs is None or needs.login is None:
            return
        config = {**request_.config, "auth": "login"}
        program, _ = self.make().prepare(replace(request_, config=config, env={}, login=b"token-4711"))

        assert program.login is not None
        assert program.files[program.login] == b"token-4711"
        visible = (*program.argv, *program.env.values())
        assert not [word for word in (*visible, repr(program)) if "token-4711" in word]

    def test_preparing_is_deterministic_and_reads_only_the_project(self, request_: AgentRequest) -> None:
        first, _ = self.make().prepare(request_)
        agent = self.make()

        with record_accesses() as accesses:
            second, _ = agent.prepare(request_)

        assert first == second
        assert not first.argv[0].startswith(("./", "../"))
        outside = [event for event in accesses if not _is_project_read(event, request_.project)]
        assert outside == []
        assert list(request_.cwd.iterdir()) == list(request_.home.iterdir()) == []

    def test_the_prompt_and_the_system_text_are_not_in_the_list_of_processes(
        self, request_: AgentRequest
    ) -> None:
        program, _ = self.make().prepare(request_)
        words = (*program.argv, *program.env.values(), *program.files)

        assert not [word for word in words if "7391" in word or "5517" in word]

    def test_files_stay_below_the_home_of_the_attempt(self, request_: AgentRequest) -> None:
        program, _ = self.make().prepare(request_)

        assert not [name for name in program.files if name.startswith("/") or ".." in Path(name).parts]

    def test_with_a_broker_the_program_and_its_files_do_not_contain_the_key(
        self, request_: AgentRequest
    ) -> None:
        agent, keys = self.make(), tuple(self.env().values())
        program, _ = agent.prepare(replace(request_, brokered=True))
        visible = (*program.argv, *program.env.values(), *program.files)
        contents = (program.stdin or b"", *program.files.values())

        assert not [key for key in keys if any(key in word for word in visible)]
        assert not [key for key in keys if any(key.encode() in content for content in contents)]
        if not key_names(self.agent_type.credentials, request_.config):
            return
        assert program.service is not None
        assert program.network == ()
        assert program.service.paths
        assert [key for key in keys if any(key in value for value in program.service.headers.values())] == [
            *keys
        ]
        assert not [key for key in keys if key in repr(program)]

    @pytest.mark.parametrize("schema", [None, SCHEMA])
    def test_an_answer_is_parsed_the_same_in_any_chunks(
        self, request_: AgentRequest, schema: Mapping[str, Any] | None
    ) -> None:
        request = replace(request_, schema=schema)
        program, parser = self.make().prepare(request)
        output, finished = run_program(program, request, parser)

        at_once = parse_output(self.make(), request, [output], finished)
        bytewise = parse_output(self.make(), request, [bytes([byte]) for byte in output], finished)

        assert at_once[0] == bytewise[0]
        assert at_once[1] == bytewise[1]
        assert at_once[0].trouble is None, at_once[0].detail
        assert at_once[0].text.strip()
        assert schema is None or at_once[0].has_value

    def test_exceeding_its_time_is_a_timeout(self, request_: AgentRequest) -> None:
        assert self.ended(request_, finished_process(exit_code=124, timed_out=True)).trouble == "timeout"

    def test_a_missing_program_is_unavailable(self, request_: AgentRequest) -> None:
        result = self.ended(request_, finished_process(exit_code=127, not_started="no such file"))

        assert result.trouble == "unavailable"
        assert "no such file" in result.detail

    def test_death_by_a_signal_is_a_failure_and_not_an_answer(self, request_: AgentRequest) -> None:
        result = self.ended(request_, finished_process(exit_code=137, signal=9))

        assert result.trouble in ("transient", "error")
        assert result.detail

    def test_an_unknown_exit_code_is_a_failure(self, request_: AgentRequest) -> None:
        assert _is_typed(self.ended(request_, finished_process(exit_code=113)))

    def test_no_output_is_a_failure(self, request_: AgentRequest) -> None:
        assert _is_typed(self.ended(request_, finished_process()))

    @pytest.mark.parametrize("data", GARBAGE)
    def test_garbage_is_a_failure_and_never_raises(self, request_: AgentRequest, data: bytes) -> None:
        """R111: if a value was requested, there is a value or a failure."""
        request = replace(request_, schema=SCHEMA)
        result, _ = parse_output(self.make(), request, [data], finished_process(stdout=data))

        assert _is_typed(result) or result.has_value
        for exit_code in (1, 113):
            failed, _ = parse_output(
                self.make(), request, [data], finished_process(exit_code=exit_code, stdout=data)
            )
            assert _is_typed(failed)

    def test_invalid_settings_are_refused_before_anything_starts(self, request_: AgentRequest) -> None:
        with pytest.raises(ConfigurationError) as refused:
            self.make().prepare(replace(request_, config=self.broken(request_.project)))

        assert str(refused.value)

    def ended(self, request: AgentRequest, finished: Finished) -> AgentResult:
        return parse_output(self.make(), request, [], finished)[0]


def _is_typed(result: AgentResult) -> bool:
    return result.trouble in get_args(AgentTrouble) and bool(result.detail)


def finished_process(
    *,
    exit_code: int = 0,
    signal: int | None = None,
    timed_out: bool = False,
    not_started: str | None = None,
    stdout: bytes = b"",
    stderr: bytes = b"",
) -> Finished:
    """The result of a process that ended this way."""
    return Finished(
        exit_code=exit_code,
        signal=signal,
        timed_out=timed_out,
        duration_s=0.1,
        stdout=CapturedOutput(head=stdout, size=len(stdout), memory=stdout),
        stderr=CapturedOutput(head=stderr, size=len(stderr), memory=stderr),
        not_started=not_started,
    )


def run_program(
    program: ProgramSpec, request: AgentRequest, parser: OutputParser | None = None
) -> tuple[bytes, Finished]:
    """Run a prepared program without a sandbox; returns its output and how it ended."""
    for name, content in program.files.items():
        path = request.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    launch = Launch(
        argv=program.argv,
        cwd=request.cwd,
        env=minimal_env({**program.env, "HOME": str(request.home)}),
        marker="podium-agent-contract",
        stdin=program.stdin,
        timeout_s=60,
    )
    finished = run_launch(launch, parser)
    return finished.stdout.read(), finished


def run_launch(
    launch: Launch, parser: OutputParser | None, on_progress: Callable[[Progress], None] = lambda _: None
) -> Finished:
    """Run a process as an attempt does: if it takes messages while it works, its input stays open until it has answered."""
    live = LiveInput(launch.stdin) if isinstance(launch.stdin, bytes) else LiveInput(b"")

    def on_output(stream: StreamName, data: bytes) -> None:
        if parser is not None and stream == "stdout":
            for progress in parser.feed(data):
                on_progress(progress)
        if isinstance(parser, GuidedParser) and parser.has_answered:
            live.close()

    used = replace(launch, stdin=live) if isinstance(parser, GuidedParser) else launch
    return anyio.run(partial(run, used, on_output=on_output))


def parse_output(
    agent: Agent, request: AgentRequest, pieces: Sequence[bytes], finished: Finished
) -> tuple[AgentResult, list[Progress]]:
    _, conversation = agent.prepare(request)
    progress_events = [progress for piece in pieces for progress in conversation.feed(piece)]
    return conversation.finish(finished), progress_events


_listening: list[list[tuple[str, str]]] = []
_hooked: list[bool] = []


@contextmanager
def record_accesses() -> Iterator[list[tuple[str, str]]]:
    """The audit events of everything that this process accesses outside itself meanwhile."""
    if not _hooked:
        # A hook cannot be removed; without listeners it does nothing.
        sys.addaudithook(_on_audit_event)
        _hooked.append(True)
    accesses: list[tuple[str, str]] = []
    _listening.append(accesses)
    try:
        yield accesses
    finally:
        _listening.remove(accesses)


def _on_audit_event(event: str, args: tuple[Any, ...]) -> None:
    # The event of a descriptor repeats that of its file.
    is_descriptor = event == "open" and bool(args) and isinstance(args[0], int)
    for accesses in _listening:
        if event.startswith(OUTSIDE) and not is_descriptor:
            accesses.append((event, str(args[0]) if args else ""))


def _is_project_read(event: tuple[str, str], project: Path) -> bool:
    """Whether the event reads a file of the project, where the settings are."""
    name, path = event
    return name in ("open", "os.listdir", "os.scandir") and Path(path).is_relative_to(project.resolve())
