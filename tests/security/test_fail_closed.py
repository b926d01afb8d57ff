"""Without a working sandbox Podium refuses, or names the weaker mode; it is never silently weaker (issue 5, point 9)."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.adapters.sandboxes import bubblewrap_argv, bubblewrap_probe
from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox
from podium.adapters.sandboxes.bubblewrap_argv import View
from podium.adapters.sandboxes.limits import LimitsSandbox
from podium.git.workdir.folder import give_ownership
from podium.ports.sandbox import BROKER, SandboxPolicy, Service
from podium.process import cgroups
from podium.process.launch import Launch
from podium.process.limits import Limits
from podium.process.run import run_blocking
from tests.e2e.kit import Project, closing, new_project
from tests.security.kit import as_ordinary_user, podium_as, without_namespaces

pytestmark = pytest.mark.security
needs_bubblewrap = pytest.mark.skipif(
    bubblewrap_probe.probe() is not None, reason="bubblewrap does not hold here"
)

FILE = "workflows/w.yaml"
MODEL = "podium: 1\nname: w\nsteps:\n  fix: {agent: claude, prompt: Fix it., gates: [{run: [echo, ok]}]}\n"
PLAIN = "podium: 1\nname: w\nsteps:\n  look: {run: [echo, ok]}\n"


@pytest.fixture
def project() -> Iterator[Project]:
    """One that an ordinary user can work in, also where the temporary folders of the tests are root's alone."""
    folder = Path(tempfile.mkdtemp(prefix="podium-closed-"))
    folder.chmod(0o755)
    with closing(new_project(folder / "place", {FILE: PLAIN, "workflows/m.yaml": MODEL})) as made:
        yield made
    shutil.rmtree(folder, ignore_errors=True)


def test_bubblewrap_that_is_not_installed_is_said_with_the_line_that_installs_it(tmp_path: Path) -> None:
    lacking = bubblewrap_probe.probe(tmp_path / "bwrap")

    assert lacking is not None
    assert (lacking.reason, lacking.fix) == (
        "bubblewrap is not installed",
        "install it: sudo apt-get install bubblewrap",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root drops rights")
def test_root_builds_no_sandbox_without_the_program_that_drops_its_rights(tmp_path: Path) -> None:
    """A bubblewrap started by root does not isolate, so without the program that drops root's rights there is no sandbox (facts 0.1)."""
    lacking = bubblewrap_probe.probe(setpriv=tmp_path / "setpriv")

    assert lacking is not None
    assert "root needs to drop its rights" in lacking.reason


def test_the_user_in_a_sandbox_that_root_builds_is_not_root() -> None:
    words = bubblewrap_argv.command_line(View(mounts=(), cwd=Path("/")), ["true"], {}, is_root=True)

    assert words.index("--reuid=65534") < len(words) - 1 - words[::-1].index("/usr/bin/bwrap")


@pytest.mark.req("R009", "C16")
@needs_bubblewrap
def test_without_user_namespaces_an_agent_that_a_model_steers_is_refused(project: Project) -> None:
    done = podium_as(project, without_namespaces, "run", "workflows/m.yaml")

    assert done.code == 2, done.err
    assert 'step "fix"' in done.err
    assert "claude needs bubblewrap: bubblewrap does not work here: bwrap: " in done.err
    assert "user namespaces" in done.err
    assert "--sandbox limits runs it in a weaker sandbox, at your risk" in done.err
    with project.store() as store:
        assert store is None or store.heads() == ()


@needs_bubblewrap
def test_without_user_namespaces_a_sandbox_that_the_user_chose_is_refused(project: Project) -> None:
    done = podium_as(project, without_namespaces, "run", FILE, "--sandbox", "bubblewrap")

    assert done.code == 2, done.err
    assert "sandbox bubblewrap: bubblewrap does not work here" in done.err


@needs_bubblewrap
def test_without_user_namespaces_a_plain_command_runs_and_the_weaker_level_is_in_the_log(
    project: Project,
) -> None:
    done = podium_as(project, without_namespaces, "run", FILE, "--json")

    assert done.code == 0, done.err
    assert levels(project) == ["limits"]


@pytest.mark.req("C16")
@needs_bubblewrap
def test_the_log_names_the_sandbox(project: Project) -> None:
    done = project.podium("run", FILE, "--json")

    assert done.code == 0, done.err
    assert levels(project) == ["bubblewrap"]


@needs_bubblewrap
def test_an_ordinary_user_has_the_same_sandbox(project: Project) -> None:
    done = podium_as(project, as_ordinary_user, "run", FILE, "--json")

    assert done.code == 0, done.err
    assert levels(project) == ["bubblewrap"]


@pytest.mark.req("C16")
@needs_bubblewrap
@pytest.mark.parametrize(("typed", "told"), [("none", "none"), ("limits", "limits")])
def test_a_weaker_level_that_a_step_names_is_in_the_log(project: Project, typed: str, told: str) -> None:
    project.commit({FILE: f"{PLAIN.rstrip()[:-1]}, sandbox: {typed}}}\n"}, "typed")
    project.put({".podium/config.yaml": f"sandbox: {typed}\n"})

    done = project.podium("run", FILE)

    assert done.code == 0, done.err
    assert levels(project) == [told]


@needs_bubblewrap
def test_an_open_network_is_in_the_log(project: Project) -> None:
    project.commit({FILE: f"{PLAIN.rstrip()[:-1]}, network: open}}\n"}, "typed")

    assert project.podium("run", FILE, "--set", "network=open").code == 0
    [ended] = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
    assert (ended["result"]["sandbox"], ended["result"]["network"]) == ("bubblewrap", "open")


def levels(project: Project) -> list[str]:
    events = project.events(project.run_id())
    return [event["result"]["sandbox"] for event in events if event["type"] == "AttemptEnded"]


def launch(folder: Path, code: str) -> Launch:
    return Launch(
        argv=(sys.executable, "-I", "-c", code),
        cwd=folder,
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)},
        marker=f"podium-closed-{secrets.token_hex(4)}",
        timeout_s=60,
    )


@needs_bubblewrap
def test_with_a_dead_model_api_nothing_goes_round_the_broker(tmp_path: Path) -> None:
    give_ownership(tmp_path, BubblewrapSandbox().owner)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Nobody listens: the API is dead.
        port = taken.getsockname()[1]
        service = Service(upstream=f"http://127.0.0.1:{port}", paths=("GET /v1/x",), headers={})
        code = (
            "import socket, urllib.error, urllib.request as request\n"
            f"try: request.urlopen('http://{BROKER[0]}:{BROKER[1]}/v1/x')\n"
            "except urllib.error.HTTPError as error: print('answered', error.code)\n"
            f"print(socket.socket().connect_ex(('127.0.0.1', {port})))"
        )
        policy = SandboxPolicy(writable=(tmp_path,), service=service)
        done = anyio.run(BubblewrapSandbox().run, launch(tmp_path, code), policy)

    answered, direct = done.stdout.text().splitlines()
    assert answered.startswith("answered 50")
    assert int(direct) != 0


@needs_bubblewrap
def test_without_a_way_out_there_is_no_broker_to_be_found(tmp_path: Path) -> None:
    give_ownership(tmp_path, BubblewrapSandbox().owner)
    code = f"import socket; print(socket.socket().connect_ex({BROKER!r}))"

    done = anyio.run(BubblewrapSandbox().run, launch(tmp_path, code), SandboxPolicy(writable=(tmp_path,)))

    assert int(done.stdout.text()) != 0, done.stderr.text()


def test_without_control_groups_only_bounds_per_process_are_promised(tmp_path: Path) -> None:
    (tmp_path / "none").write_text("")
    parents = cgroups.find(tmp_path / "none", tmp_path / "none")

    assert parents == cgroups.Parents()
    with cgroups.group(memory_bytes=1 << 20, cpus=1, processes=9, parents=parents) as groups:
        assert groups == cgroups.Groups()


def test_a_group_that_cannot_be_entered_starts_nothing(tmp_path: Path) -> None:
    bound = replace(launch(tmp_path, "print('ran')"), limits=Limits(groups=(tmp_path / "gone",)))

    done = run_blocking(bound)

    assert (done.exit_code != 0, done.stdout.text()) == (True, "")


def test_what_is_in_force_says_for_whom_memory_is_bounded() -> None:
    kinds = [bound for bound in LimitsSandbox().in_force if bound.startswith("memory ")]

    assert kinds in (["memory per process"], ["memory by cgroup v1"], ["memory by cgroup v2"])
