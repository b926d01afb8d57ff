"""In a sandbox the model answers, and a process finds neither its key nor any other way out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import anyio
import pytest

from podium.adapters.sandboxes import bubblewrap_probe as machine
from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox
from podium.adapters.sandboxes.container import ContainerSandbox, find_engine
from podium.errors import ConfigurationError
from podium.git.workdir.folder import give_ownership
from podium.ports.sandbox import EgressDecision, Sandbox, SandboxPolicy
from podium.process.launch import Finished, Launch
from tests.egress.kit import KEY, Api, api, service
from tests.security.containers import PYTHON_IMAGE, made_python_image

pytestmark = [pytest.mark.security, pytest.mark.timeout(300)]

PYTHON = str(Path(sys.executable).resolve())
PLACES = ("memory", "environ", "argv", "files")
PROBE = Path(__file__).with_name("probe.py")
WEB = """
import socket, sys
def tried(family, place):
    stream = socket.socket(family); stream.settimeout(3)
    try: stream.connect(place); return "open"
    except ConnectionRefusedError: return "refused"
    except OSError as error: return "no-route" if error.errno in (101, 99) else repr(error)
def named(name):
    try: socket.getaddrinfo(name, 443); return "resolved"
    except OSError as error: return "unknown"
print(tried(socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))), tried(socket.AF_INET, ("198.51.100.7", 443)),
      tried(socket.AF_INET6, ("2001:db8::1", 443)), named("packages.example"), named("localhost.evil.example"))
"""
CONNECT = """
import socket
with socket.create_connection(("127.0.0.1", 8082)) as stream:
    stream.sendall(b"CONNECT packages.example:443 HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n")
    print(b"".join(iter(lambda: stream.recv(1000), b"")))
with socket.create_connection(("127.0.0.1", 8082)) as stream:
    stream.sendall(b"CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n")
    print(stream.recv(1000)[:12])
"""


@pytest.fixture(params=["bubblewrap", "container"])
def level(request: pytest.FixtureRequest) -> str:
    lacking = machine.probe()
    if request.param == "container" and made_python_image() != PYTHON_IMAGE:
        pytest.skip(made_python_image())
    if request.param == "bubblewrap" and lacking is not None:
        pytest.skip(f"{lacking.reason}; {lacking.fix}")
    if request.param == "container":
        find_engine(
            PYTHON_IMAGE
        )  # it remembers the answer; to find it starts a process, which a loop cannot wait for
    return str(request.param)


def sandbox_of(level: str, port: int = 1) -> Sandbox:
    """Every listed host leads to this port."""
    if level == "bubblewrap":
        return BubblewrapSandbox(leads_to(port))
    return ContainerSandbox(find_engine(PYTHON_IMAGE), PYTHON_IMAGE, leads_to(port))


def ran(
    level: str,
    folder: Path,
    code: str,
    made: Callable[[Api], SandboxPolicy],
    *,
    words: Callable[[Api], Sequence[str]] = lambda _: (),
    env: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Finished, Api]:
    """A script in the sandbox; every listed host leads to the one API."""
    python = PYTHON if level == "bubblewrap" else "python3"

    async def go() -> tuple[Finished, Api]:
        async with api() as model:
            sandbox = sandbox_of(level, model.port)
            work = folder / "work"
            work.mkdir()
            (work / "script.py").write_text(code)
            give_ownership(work, sandbox.owner)
            launch = Launch(
                argv=(python, "-I", "script.py", *words(model)),
                cwd=work,
                env={"PATH": os.defpath, "HOME": str(work), **env},
                marker=f"podium-egress-{os.getpid()}",
                timeout_s=120,
            )
            return await sandbox.run(launch, replace(made(model), writable=(work,))), model

    return anyio.run(go)


def leads_to(port: int) -> Callable[[str, int], Awaitable[Sequence[tuple[str, int]]]]:
    async def resolve(_host: str, _port: int) -> Sequence[tuple[str, int]]:
        return [("127.0.0.1", port)]

    return resolve


@pytest.mark.req("R179", "R184")
def test_the_key_is_in_no_memory_environment_argument_or_file_within_while_the_model_answers(
    level: str, tmp_path: Path
) -> None:
    decisions: list[EgressDecision] = []

    done, model = ran(
        level,
        tmp_path,
        PROBE.read_text(),
        lambda model: SandboxPolicy(service=service(model.port), on_decision=decisions.append),
        words=lambda _: [KEY[::-1]],
    )
    assert done.exit_code == 0, done.stderr.text()
    seen = json.loads(done.stdout.text())

    assert seen["calls"] == {"/v1/messages": 200, "/v1/files": 403, "/v1/messages/batches": 403}
    # In a container the relay is outside.
    assert seen["looked into"] >= 1 or level == "container", "the relay, at least, could be looked into"
    assert {name: seen[name] for name in PLACES} == {name: [] for name in PLACES}
    assert model.lines == ["POST /v1/messages HTTP/1.1"]
    assert KEY in model.heard[0].decode()
    # A refusal is decided at once, an answer when its upstream has begun to give it.
    assert sorted((one.what, one.status) for one in decisions) == [
        ("POST /v1/files", 403),
        ("POST /v1/messages", 200),
        ("POST /v1/messages/batches", 403),
    ]


def test_the_same_search_finds_a_key_that_is_there(level: str, tmp_path: Path) -> None:
    done, _ = ran(
        level,
        tmp_path,
        f"open('left-behind', 'w').write({KEY!r})\n{PROBE.read_text()}",
        lambda model: SandboxPolicy(service=service(model.port)),
        words=lambda _: [KEY[::-1], KEY],
        env={"LEAKED": KEY},
    )
    seen = json.loads(done.stdout.text())

    # In a container there is no other process whose memory could be searched.
    assert [name for name in PLACES if not seen[name]] == ([] if level == "bubblewrap" else ["memory"])


@pytest.mark.req("R009", "R179")
@pytest.mark.parametrize("has_service", [True, False])
def test_there_is_no_route_no_name_and_no_port_of_the_host(
    level: str, tmp_path: Path, has_service: bool
) -> None:
    done, model = ran(
        level,
        tmp_path,
        WEB,
        lambda model: SandboxPolicy(service=service(model.port) if has_service else None),
        words=lambda model: [str(model.port)],
    )

    assert done.stdout.text().split() == ["refused", "no-route", "no-route", "unknown", "unknown"], (
        done.stderr.text()
    )
    assert model.heard == []


def test_a_host_that_is_listed_is_reached_by_the_proxy_and_another_is_not(level: str, tmp_path: Path) -> None:
    decisions: list[EgressDecision] = []

    done, model = ran(
        level,
        tmp_path,
        CONNECT,
        lambda _: SandboxPolicy(network=("packages.example",), on_decision=decisions.append),
    )
    first, second = done.stdout.text().splitlines()

    assert "Connection established" in first and first.endswith("ok'")
    assert second == "b'HTTP/1.1 403'"
    assert model.lines == ["GET / HTTP/1.1"]
    assert [one.allowed for one in decisions] == [True, False]


def test_a_way_out_that_cannot_be_opened_means_that_nothing_is_started(level: str, tmp_path: Path) -> None:
    """Fail closed: a process without it would only find out much later, and perhaps say nothing."""
    launch = Launch(argv=("/bin/touch", "started"), cwd=tmp_path, env={}, marker="podium-egress-closed")

    with pytest.raises(ConfigurationError, match="is not a host name"):
        anyio.run(sandbox_of(level).run, launch, SandboxPolicy(writable=(tmp_path,), network=("*.example",)))

    assert list(tmp_path.iterdir()) == []
