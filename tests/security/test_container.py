"""A container keeps the contract of every sandbox, and says why where it cannot be had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio
import pytest

from podium.adapters.sandboxes.container import ENGINES, ContainerSandbox, Engine, find_engine
from podium.adapters.sandboxes.select import sandbox_of_level
from podium.errors import ConfigurationError
from podium.git.workdir.folder import give_ownership
from podium.ports.sandbox import Sandbox, SandboxPolicy
from podium.process.launch import Launch
from podium.testing.sandbox_contract import SandboxContract
from tests.e2e.kit import closing, new_project
from tests.security.containers import (
    IMAGE,
    PYTHON_IMAGE,
    made_image,
    made_python_image,
    ordinary_storage,
    python_mounts,
)
from tests.security.kit import as_ordinary_user, podium_as

pytestmark = pytest.mark.security

LOOK = """
import json, os, resource
written = []
for folder in ("/", "/etc", "/usr", "/home", "/tmp", "/var/tmp", os.getcwd()):
    try:
        open(os.path.join(folder, "made"), "w").close()
    except OSError:
        continue
    written.append(folder)
mounts = [line.split()[4] for line in open("/proc/self/mountinfo")]
files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
print(json.dumps({"uid": os.getuid(), "written": written, "mounts": mounts, "files": files}))
"""


class TestContainerSandbox(SandboxContract):
    added = ("HOSTNAME", "TERM", "container")

    def make(self) -> Sandbox:
        image = made_image()
        if image != IMAGE:
            pytest.skip(image)
        return ContainerSandbox(find_engine(image), image)

    @pytest.fixture
    def folder(self, sandbox: Sandbox, tmp_path: Path) -> Path:
        work = tmp_path / "work"
        work.mkdir()
        give_ownership(work, sandbox.owner)
        return work

    def policy(self, folder: Path) -> SandboxPolicy:
        return SandboxPolicy(writable=(folder,), mounts=python_mounts())

    @pytest.mark.req("R180")
    def test_within_is_nobody_a_read_only_system_fresh_space_and_nothing_but_the_workspace(
        self, sandbox: Sandbox, folder: Path
    ) -> None:
        done = anyio.run(sandbox.run, self.launch(folder, LOOK), self.policy(folder))

        assert done.exit_code == 0, done.stderr.text()
        found = json.loads(done.stdout.text())
        assert found["uid"] != 0
        assert found["written"] == ["/tmp", "/var/tmp", str(folder)]
        lent = {str(mount.target) for mount in python_mounts()} | {str(folder)}
        assert {place for place in found["mounts"] if place.startswith(str(folder.parents[1]))} <= lent
        assert found["files"] == 1024

    @pytest.mark.req("R180", "R186")
    def test_every_exit_code_is_read_and_no_container_is_left(self, sandbox: Sandbox, folder: Path) -> None:
        """With `--rm` podman sometimes removed a container before it read the exit code, and reported 127."""
        codes: list[int] = []
        marker = f"exit-codes-{os.getpid()}"

        async def run_one(number: int) -> None:
            launch = replace(self.launch(folder, f"raise SystemExit({number})"), marker=f"{marker}-{number}")
            codes.append((await sandbox.run(launch, self.policy(folder))).exit_code)

        async def run_side_by_side() -> None:
            async with anyio.create_task_group() as group:
                for number in range(20, 32):
                    group.start_soon(run_one, number)

        anyio.run(run_side_by_side)

        assert sorted(codes) == list(range(20, 32))
        assert marker not in _labels()

    def test_a_hidden_folder_is_empty(self, sandbox: Sandbox, folder: Path) -> None:
        """Podman would fill an empty file system with a copy of what it covers."""
        secret = folder / "hidden/below/secret"
        secret.parent.mkdir(parents=True)
        secret.write_text("secret")
        code = f"import os; print(os.listdir({str(folder / 'hidden')!r}))"

        done = anyio.run(
            sandbox.run, self.launch(folder, code), replace(self.policy(folder), hidden=(folder / "hidden",))
        )

        assert (done.exit_code, done.stdout.text()) == (0, "[]\n"), done.stderr.text()

    def test_memory_beyond_the_limit_is_refused(self, sandbox: Sandbox, folder: Path) -> None:
        policy = replace(self.policy(folder), memory_bytes=256 << 20)

        done = anyio.run(sandbox.run, self.launch(folder, "x = b'x' * (1 << 30); print('got it')"), policy)

        assert done.exit_code != 0
        assert "got it" not in done.stdout.text()

    def test_a_way_out_to_single_hosts_needs_podman(self, folder: Path) -> None:
        policy = SandboxPolicy(writable=(folder,), network=("packages.example:443",))
        sandbox = ContainerSandbox(Engine(Path("/usr/bin/docker")), IMAGE)

        with pytest.raises(ConfigurationError, match="only with podman, as root"):
            anyio.run(sandbox.run, self.launch(folder, "1"), policy)


def test_a_container_without_an_image_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs an image"):
        sandbox_of_level("container")


def test_an_image_that_is_not_there_is_refused_with_the_words_of_the_engine() -> None:
    if made_image() != IMAGE:
        pytest.skip(made_image())

    with pytest.raises(ConfigurationError, match="no-such-image"):
        sandbox_of_level("container", "localhost/no-such-image:1")


STEERING: Final = {"CONTAINERS_CONF": "/nonexistent", "XDG_RUNTIME_DIR": "/nonexistent", "GODEBUG": "x"}


@pytest.mark.req("R182", "R184")
def test_variables_of_a_step_are_set_inside_and_do_not_steer_the_engine_outside(tmp_path: Path) -> None:
    """The engine runs with the rights of the user: a library that it loads would be outside of every sandbox."""
    if made_python_image() != PYTHON_IMAGE:
        pytest.skip(made_python_image())
    given = {**STEERING, "PLAIN": "a b"}
    step = {
        "run": ["sh", "-c", "echo " + " ".join(f"{name}=${name}" for name in given)],
        "env": [f"{name}={value}" for name, value in given.items()],
    }
    sandbox = {"level": "container", "image": PYTHON_IMAGE}
    flow = {"podium": 1, "name": "steer", "sandbox": sandbox, "steps": {"it": step}}
    with closing(new_project(tmp_path / "place", {"workflow.yaml": json.dumps(flow)})) as project:
        done = project.podium("run", "workflow.yaml", "--json")

        assert done.code == 0, done.err + done.out
        ended = next(event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded")
        assert ended["result"]["text"].strip() == " ".join(f"{name}={value}" for name, value in given.items())


@pytest.mark.req("R182", "R184")
def test_the_engine_itself_loads_no_library_that_a_step_names(tmp_path: Path) -> None:
    engine = tmp_path / "podman"
    engine.write_text(f'#!/bin/sh\nenv > {tmp_path}/env-$1\nprintf "%s\\n" "$@" > {tmp_path}/words-$1\n')
    engine.chmod(0o755)
    env = {**STEERING, "LD_PRELOAD": "/p/lib.so", "LD_LIBRARY_PATH": "/p", "TMPDIR": "/p", "TOKEN": "secret"}
    launch = Launch(argv=("true",), cwd=tmp_path, env=env, marker="engine", timeout_s=30)

    anyio.run(ContainerSandbox(Engine(engine), "image").run, launch, SandboxPolicy())

    seen = (tmp_path / "env-run").read_text().splitlines()
    words = (tmp_path / "words-run").read_text().splitlines()
    names = {line.partition("=")[0] for line in seen}
    assert not names & (env.keys() - {"TOKEN"})
    assert "TOKEN=secret" in seen
    assert {f"--env={name}={value}" for name, value in env.items() if name != "TOKEN"} <= set(words)
    assert "--env=TOKEN" in words, "a value that is secret is not shown to other users"


@pytest.mark.parametrize("level", ["bubblewrap", "container"])
@pytest.mark.req("R182")
def test_outside_git_no_process_sees_the_records_of_runs(level: str) -> None:
    """There the workspace is the project, where Podium keeps its database, prompts and logs."""
    if level == "container" and ordinary_storage().startswith("("):
        pytest.skip(ordinary_storage())
    look = [sys.executable if level == "bubblewrap" else "python3", "look.py"]
    files = {
        "look.py": "import os, time\nprint([(found, names) for found, _, names in os.walk('.podium') if names])\n",
        "workflow.yaml": json.dumps(
            {
                "podium": 1,
                "name": "look",
                "sandbox": {"level": level, **({"image": PYTHON_IMAGE} if level == "container" else {})},
                "agents": {
                    "looker": {"type": "command", "command": look, "price": {"input": 0, "output": 0}}
                },
                "steps": {
                    "by_agent": {"agent": "looker", "prompt": "look"},
                    "by_command": {"run": look},
                    "by_gate": {"agent": "looker", "prompt": "look", "gates": [{"run": look}]},
                },
            }
        ),
    }
    with tempfile.TemporaryDirectory(prefix="podium-hidden-") as name:
        Path(name).chmod(0o755)
        with closing(new_project(Path(name) / "place", files, git=False)) as project:
            if level == "container":
                settings = Path(name) / "place/home/.config/containers/storage.conf"
                settings.parent.mkdir(parents=True)
                settings.write_text(ordinary_storage())

            done = podium_as(project, as_ordinary_user, "run", "workflow.yaml", "--json")

            assert done.code == 0, done.err + done.out
            ended = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
            assert [event["result"]["text"].strip() for event in ended] == ["[]"] * 4


def _labels() -> str:
    engine = next(program for program in ENGINES if program.exists())
    command = (str(engine), "ps", "--all", "--filter=label=podium", "--format={{.Labels}}")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
