"""What every agent adapter must do. Subclass it, give `agent_type`, `config` and `broken`, and pytest runs the suite.

    class TestMine(AgentContract):
        agent_type = AGENT

        def config(self, project: Path) -> Mapping[str, Any]:
            return {"command": str(stand_in(project))}

        def broken(self, project: Path) -> Mapping[str, Any]:
            return {"effort": "turbo"}

An agent that is a service has a suite of its own: `podium.testing.service_agent_contract`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

import anyio
import pytest

from podium.credentials import key_names
from podium.errors import ConfigurationError
from podium.ports.agent import Agent, AgentRequest, AgentResult, AgentTrouble, ProgramSpec, Progress
from podium.ports.agent_type import AgentType
from podium.process.environment import minimal_env
from podium.process.launch import Finished, Launch
from podium.process.output import CapturedOutput
from podium.process.run import run
from podium.workflow.contracts.json_schema import faults_of
from podium.workflow.contracts.schema_check import schema_fault
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
"""The beginnings of the names of audit events by which a process reaches outside of itself."""


class AgentContract:
    agent_type: AgentType
    """The registration of the agent."""

    def make(self) -> Agent:
        adapter = self.agent_type.new_adapter()
        assert isinstance(adapter, Agent), f"{self.agent_type.make} has no prepare()"
        return adapter

    def config(self, project: Path) -> Mapping[str, Any]:
        """Settings with which it answers any request well, without a network; may write files into the project."""
        raise NotImplementedError

    def broken(self, project: Path) -> Mapping[str, Any]:
        """Settings that cannot be used."""
        raise NotImplementedError

    def env(self) -> Mapping[str, str]:
        """What it gets of the user's environment: values for the variables of its `credentials`."""
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

    def test_its_registration_agrees_with_itself(self, request_: AgentRequest) -> None:
        agent_type = self.agent_type

        assert NAME.fullmatch(agent_type.name), f"a workflow cannot name an agent {agent_type.name!r}"
        assert agent_type.program or not agent_type.tested, "a version was tried, and there is no program"
        assert agent_type.capabilities.files, "an agent that is a program can change files"
        assert set(self.env()) <= set(key_names(agent_type.credentials, request_.config))
        assert isinstance(agent_type.new_adapter(), type(self.make()))
        for key, schema in agent_type.capabilities.settings.items():
            assert schema_fault(schema) is None, key
            if key in request_.config:
                assert faults_of(request_.config[key], schema) == ()

    def test_a_conversation_that_can_be_resumed_leaves_files(self, request_: AgentRequest) -> None:
        """Continuity by a session means that the next attempt gets the files of the last one."""
        program, _ = self.make().prepare(replace(request_, lasting=True))

        assert program.remembers or self.agent_type.capabilities.continuity != "session"

    def test_a_login_is_a_file_of_its_home_and_only_where_the_settings_say_so(
        self, request_: AgentRequest
    ) -> None:
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
        seen = (*program.argv, *program.env.values())
        assert not [word for word in (*seen, repr(program)) if "token-4711" in word]

    def test_the_same_request_is_prepared_alike_and_nothing_but_its_settings_is_read(
        self, request_: AgentRequest
    ) -> None:
        first, _ = self.make().prepare(request_)
        agent = self.make()

        with reaching_out() as seen:
            second, _ = agent.prepare(request_)

        assert first == second
        assert not first.argv[0].startswith(("./", "../"))
        strange = [event for event in seen if not _is_in(event, request_.project)]
        assert strange == []
        assert list(request_.cwd.iterdir()) == list(request_.home.iterdir()) == []

    def test_neither_the_prompt_nor_the_system_text_stands_in_the_list_of_processes(
        self, request_: AgentRequest
    ) -> None:
        program, _ = self.make().prepare(request_)
        words = (*program.argv, *program.env.values(), *program.files)

        assert not [word for word in words if "7391" in word or "5517" in word]

    def test_files_stay_below_the_home_of_the_attempt(self, request_: AgentRequest) -> None:
        program, _ = self.make().prepare(request_)

        assert not [name for name in program.files if name.startswith("/") or ".." in Path(name).parts]

    def test_where_a_broker_holds_the_key_nothing_that_is_started_or_written_does(
        self, request_: AgentRequest
    ) -> None:
        agent, keys = self.make(), tuple(self.env().values())
        program, _ = agent.prepare(replace(request_, brokered=True))
        seen = (*program.argv, *program.env.values(), *program.files)
        written = (program.stdin or b"", *program.files.values())

        assert not [key for key in keys if any(key in word for word in seen)]
        assert not [key for key in keys if any(key.encode() in content for content in written)]
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
    def test_an_answer_is_understood_in_whatever_pieces_it_comes(
        self, request_: AgentRequest, schema: Mapping[str, Any] | None
    ) -> None:
        request = replace(request_, schema=schema)
        program, _ = self.make().prepare(request)
        said, finished = play(program, request)

        whole = understood(self.make(), request, [said], finished)
        bytewise = understood(self.make(), request, [bytes([byte]) for byte in said], finished)

        assert whole[0] == bytewise[0]
        assert whole[1] == bytewise[1]
        assert whole[0].trouble is None, whole[0].detail
        assert whole[0].text.strip()
        assert schema is None or whole[0].has_value

    def test_the_end_of_its_time_is_a_timeout(self, request_: AgentRequest) -> None:
        assert self.ended(request_, over(exit_code=124, timed_out=True)).trouble == "timeout"

    def test_a_program_that_is_not_there_is_unavailable(self, request_: AgentRequest) -> None:
        result = self.ended(request_, over(exit_code=127, not_started="no such file"))

        assert result.trouble == "unavailable"
        assert "no such file" in result.detail

    def test_death_by_a_signal_is_trouble_and_not_an_answer(self, request_: AgentRequest) -> None:
        result = self.ended(request_, over(exit_code=137, signal=9))

        assert result.trouble in ("transient", "error")
        assert result.detail

    def test_an_exit_code_that_nobody_explained_is_trouble(self, request_: AgentRequest) -> None:
        assert _is_typed(self.ended(request_, over(exit_code=113)))

    def test_nothing_said_is_trouble(self, request_: AgentRequest) -> None:
        assert _is_typed(self.ended(request_, over()))

    @pytest.mark.parametrize("data", GARBAGE)
    def test_garbage_is_trouble_and_never_raises(self, request_: AgentRequest, data: bytes) -> None:
        """R111: where a value was asked for, there is one or there is trouble."""
        request = replace(request_, schema=SCHEMA)
        result, _ = understood(self.make(), request, [data], over(stdout=data))

        assert _is_typed(result) or result.has_value
        for exit_code in (1, 113):
            failed, _ = understood(self.make(), request, [data], over(exit_code=exit_code, stdout=data))
            assert _is_typed(failed)

    def test_settings_that_cannot_be_used_are_refused_before_anything_starts(
        self, request_: AgentRequest
    ) -> None:
        with pytest.raises(ConfigurationError) as refused:
            self.make().prepare(replace(request_, config=self.broken(request_.project)))

        assert str(refused.value)

    def ended(self, request: AgentRequest, finished: Finished) -> AgentResult:
        return understood(self.make(), request, [], finished)[0]


def _is_typed(result: AgentResult) -> bool:
    return result.trouble in get_args(AgentTrouble) and bool(result.detail)


def over(
    *,
    exit_code: int = 0,
    signal: int | None = None,
    timed_out: bool = False,
    not_started: str | None = None,
    stdout: bytes = b"",
    stderr: bytes = b"",
) -> Finished:
    """A process that has ended like this."""
    return Finished(
        exit_code=exit_code,
        signal=signal,
        timed_out=timed_out,
        duration_s=0.1,
        stdout=CapturedOutput(head=stdout, size=len(stdout), memory=stdout),
        stderr=CapturedOutput(head=stderr, size=len(stderr), memory=stderr),
        not_started=not_started,
    )


def play(program: ProgramSpec, request: AgentRequest) -> tuple[bytes, Finished]:
    """Runs what an adapter has prepared, without walls; what it said, and how it ended."""
    for name, content in program.files.items():
        place = request.home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    launch = Launch(
        argv=program.argv,
        cwd=request.cwd,
        env=minimal_env({**program.env, "HOME": str(request.home)}),
        marker="podium-agent-contract",
        stdin=program.stdin,
        timeout_s=60,
    )
    finished = anyio.run(run, launch)
    return finished.stdout.read(), finished


def understood(
    agent: Agent, request: AgentRequest, pieces: Sequence[bytes], finished: Finished
) -> tuple[AgentResult, list[Progress]]:
    _, conversation = agent.prepare(request)
    seen = [progress for piece in pieces for progress in conversation.feed(piece)]
    return conversation.finish(finished), seen


_listening: list[list[tuple[str, str]]] = []
_hooked: list[bool] = []


@contextmanager
def reaching_out() -> Iterator[list[tuple[str, str]]]:
    """The audit events of whatever this process does to the world meanwhile."""
    if not _hooked:
        # A hook cannot be taken off again; without listeners it does nothing.
        sys.addaudithook(_hear)
        _hooked.append(True)
    seen: list[tuple[str, str]] = []
    _listening.append(seen)
    try:
        yield seen
    finally:
        _listening.remove(seen)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    for seen in _listening:
        if event.startswith(OUTSIDE):
            seen.append((event, str(args[0]) if args else ""))


def _is_in(event: tuple[str, str], project: Path) -> bool:
    """Reading, or looking at, a file of the project: that is where settings are."""
    name, what = event
    return name in ("open", "os.listdir", "os.scandir") and Path(what).is_relative_to(project.resolve())
