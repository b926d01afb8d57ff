"""What a process of a run wrote never decides what a later process sees of the host (issue 16, A1, A2)."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from podium.adapters.sandboxes import bubblewrap_probe
from tests.e2e.kit import Project, closing, new_project
from tests.security.containers import PYTHON_IMAGE, made_python_image, ordinary_storage
from tests.security.kit import as_ordinary_user, podium_as
from tests.security.mounts.plants import PLANTS, SCRIPTS, groups

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(bubblewrap_probe.probe() is not None, reason="bubblewrap does not hold here"),
]

PLACES: Final = ("workspace", "home", "tmp")
READERS: Final = ("gate", "reviewer", "next_agent", "next_command", "after_setup", "teardown")
WRITERS: Final = ("agent", "command", "setup")
SURROUNDINGS: Final = (
    *("git_root", "git_ordinary", "no_git_ordinary", "git_root_container"),
    *("git_ordinary_container", "no_git_ordinary_container"),
)
SECRET: Final = "SECRET-"
CONTAINER: Final = json.dumps({"level": "container", "image": PYTHON_IMAGE})


def test_there_are_enough_cases() -> None:
    cases = len(PLANTS) * len(PLACES) * len(WRITERS) * len(READERS) * len(SURROUNDINGS)
    assert (len(PLANTS), cases) >= (25, 300)
    assert {kind for group in groups() for kind in group} == set(PLANTS)


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("kinds", groups(), ids=[group[0] for group in groups()])
@pytest.mark.req("R182")
def test_no_process_sees_a_private_folder_that_a_planted_file_names(
    kinds: tuple[str, ...], around: str
) -> None:
    is_container = around.endswith("container")
    as_root = "_root" in around
    if as_root and os.geteuid():
        pytest.skip("not root")
    missing = _missing_image(as_root=as_root) if is_container else ""
    if missing:
        pytest.skip(missing)
    with _attacked(kinds, git=around.startswith("git"), in_container=is_container) as project:
        args = ("run", "workflow.yaml", "--json", *(() if is_container else ("--sandbox", "bubblewrap")))

        done = project.podium(*args) if as_root else podium_as(project, as_ordinary_user, *args)

        said = _said(project)
        assert SECRET not in said, f"a private folder was seen: {said[said.index(SECRET) - 300 :][:600]}"
        assert "listed" not in said
        assert "connected" not in said
        assert done.code == 0, done.err + done.out
        assert said.count("LOOKED") >= len(READERS), "a reader did not look"
        assert said.count("planted") >= len(WRITERS), "a writer did not plant"


@pytest.mark.parametrize("in_container", [False, True], ids=["bubblewrap", "container"])
@pytest.mark.req("R182")
def test_root_outside_git_is_refused_at_both_levels_before_anything_is_planted(in_container: bool) -> None:
    """The workspace would be the project itself, whose owner a process in the sandbox is not."""
    if os.geteuid():
        pytest.skip("not root")
    if in_container and made_python_image() != PYTHON_IMAGE:
        pytest.skip(made_python_image())
    with _attacked(groups()[0], git=False, in_container=in_container) as project:
        level = () if in_container else ("--sandbox", "bubblewrap")
        done = project.podium("run", "workflow.yaml", "--json", *level)

        said = _said(project)
        assert (done.code, "cannot be sandboxed as root" in said) == (1, True), done.out
        assert ("planted\\n" in said, SECRET in said) == (False, False)


@pytest.mark.parametrize("kinds", groups(), ids=[group[0] for group in groups()])
@pytest.mark.req("R182")
def test_the_next_run_outside_git_sees_no_private_folder_either(kinds: tuple[str, ...]) -> None:
    """There the planted files stay in the project, and a folder named .venv looks like the user's own."""
    with _attacked(kinds, git=False) as project:
        plant = ("run", "plant.yaml", "--sandbox", "bubblewrap")
        assert podium_as(project, as_ordinary_user, *plant).code == 0

        done = podium_as(
            project, as_ordinary_user, "run", "workflow.yaml", "--json", "--sandbox", "bubblewrap"
        )

        said = _said(project)
        assert SECRET not in said, f"a private folder was seen: {said[said.index(SECRET) - 300 :][:600]}"
        assert ("listed" in said, "connected" in said, done.code) == (False, False, 0), done.out


@contextmanager
def _attacked(kinds: tuple[str, ...], *, git: bool, in_container: bool = False) -> Iterator[Project]:
    """A project with the attack, below a home with a private folder for each kind and place."""
    with tempfile.TemporaryDirectory(prefix="podium-planted-") as name, ExitStack() as sockets:
        folder = Path(name)
        folder.chmod(0o755)
        home = folder / "place/home"
        private = {(kind, where): home / f"private-{kind}-{where}" for kind in kinds for where in PLACES}
        plans = [(where, _plan(kind, private[kind, where])) for kind, where in private]
        files = {
            "attack/hostile.py": Path(__file__).with_name("hostile.py").read_text("utf-8"),
            "attack/data.json": json.dumps({"plans": plans, "private": list(map(str, private.values()))}),
            "src/app.py": "x = 1\n",
            ".gitignore": ".podium/\n",
            "workflow.yaml": _workflow(kinds, f"sandbox: {CONTAINER}" if in_container else ""),
            "plant.yaml": "podium: 1\nname: plant\nsteps:\n  plant: {run: python3 attack/hostile.py plant}\n",
        }
        with closing(new_project(folder / "place", files, git=git)) as project:
            if in_container and not ordinary_storage().startswith("("):
                settings = home / ".config/containers/storage.conf"
                settings.parent.mkdir(parents=True)
                settings.write_text(ordinary_storage())
            for (kind, where), place in private.items():
                sockets.enter_context(_private_folder(place, f"{SECRET}{kind}-{where}"))
            yield project


@contextmanager
def _private_folder(place: Path, secret: str) -> Iterator[None]:
    """As open as can be, so that only the sandbox keeps a process out."""
    (place / "bin").mkdir(parents=True)
    (place / "lib").mkdir()
    (place / "key").write_text(f"{secret}\n")
    (place / "lib/secret.py").write_text(f"# {secret}\n")
    for name in ("tool", "check"):
        (place / "bin" / name).write_text(f"#!/bin/sh\necho {secret} started\n")
        (place / "bin" / name).chmod(0o755)
    (place / "key").chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        # By descriptor, because the whole path is too long for a socket.
        fd = os.open(place, os.O_PATH)
        listener.bind(f"/proc/self/fd/{fd}/socket")
        os.close(fd)
        (place / "socket").chmod(0o777)
        listener.listen()
        yield


def _plan(kind: str, private: Path) -> dict[str, dict[str, str]]:
    def filled(texts: dict[str, str]) -> dict[str, str]:
        return {_fill(name, kind, private): _fill(text, kind, private) for name, text in texts.items()}

    return {"files": filled(PLANTS[kind].files), "links": filled(PLANTS[kind].links)}


def _fill(text: str, kind: str, private: Path) -> str:
    return text.replace("{private}", str(private)).replace("{kind}", kind)


def _workflow(kinds: tuple[str, ...], sandbox: str) -> str:
    look = "python3 attack/hostile.py look"
    plant = "python3 attack/hostile.py plant"
    scripts = [kind for kind in kinds if kind in SCRIPTS]
    starts = "".join(
        f"  start_{number}: {{run: [{kind}/check], retry: 1, on: {{failed: next, timeout: next, error: next}}}}\n"
        for number, kind in enumerate(scripts)
    )
    gates = "".join(f", {{run: [{kind}/check]}}" for kind in scripts)
    going_on = "retry: 1, on: {failed: next}"
    return f"""
podium: 1
name: planted
{sandbox}
agents:
  planter: {{type: command, command: "{plant}", price: {{input: 0, output: 0}}}}
  looker: {{type: command, command: "{look}", price: {{input: 0, output: 0}}}}
  judge: {{type: command, command: "python3 attack/hostile.py review", price: {{input: 0, output: 0}}}}
steps:
  by_agent: {{agent: planter, prompt: go, {going_on}, gates: [{{run: "{look}"}}{gates}]}}
  by_command: {{run: "{plant}", touches: ["**"], {going_on}}}
{starts}  look: {{run: "{look}", {going_on}}}
  next_agent: {{agent: looker, prompt: go, {going_on}}}
  reviewer: {{review: judge}}
  by_setup:
    agent: looker
    prompt: go
    workspace: {{setup: [{plant.split()}], teardown: [{look.split()}]}}
    retry: 1
    on: {{failed: next}}
  command_after_setup:
    run: "{look}"
    workspace: {{setup: [{plant.split()}], teardown: [{look.split()}]}}
    retry: 1
    on: {{failed: next}}
"""


def _missing_image(*, as_root: bool) -> str:
    """Why there is no image for this user, in brackets."""
    image = made_python_image() if as_root else ordinary_storage()
    return image if image.startswith("(") else ""


def _said(project: Project) -> str:
    """Everything that the runs recorded."""
    with project.store() as store:
        runs = [head.run for head in store.heads()]
    return json.dumps([project.events(run) for run in runs])
