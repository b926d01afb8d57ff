"""A process that uses too much is ended, its result names the limit, and the next step runs (issue 16, A9)."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from podium.adapters.sandboxes import bubblewrap_probe
from tests.e2e.kit import Ended, Project, closing, new_project
from tests.security.containers import PYTHON_IMAGE, made_python_image
from tests.security.kit import as_ordinary_user, podium_as
from tests.security.resources.hungry import HUNGER

pytestmark = pytest.mark.security

PROCESSES: Final = ("fork", "sessions", "orphans", "threads", "shell")
SIZES: Final = (
    *("large_file", "large_file_at_home", "large_file_in_tmpdir", "files_of_some_size"),
    *("deleted", "mapped", "unreadable", "deep", "sparse"),
)
FILES: Final = ("small_files", "empty_files", "folders", "links")
SCRATCH: Final = ("tmp", "var_tmp", "run", "shm")
SCRATCH_FILES: Final = ("files_in_tmp", "files_in_shm")
KEYS: Final = {
    **dict.fromkeys(PROCESSES, "sandbox.processes"),
    **dict.fromkeys(SIZES, "sandbox.disk"),
    **dict.fromkeys((*FILES, *SCRATCH_FILES), "sandbox.files"),
    **dict.fromkeys(SCRATCH, "sandbox.scratch"),
    # It is refused at once: only devices and /dev/shm are there.
    "devices": "Read-only file system",
}
IN_CONTAINER: Final = {"run": "Permission denied", "devices": "Permission denied"}
"""What belongs to root there, as in the image."""
OWN_FILES: Final = (SCRATCH, (*SCRATCH_FILES, "devices"))
"""What only a process with files of its own can be kept from."""
GROUPS: Final = (PROCESSES, SIZES[:4], SIZES[4:], FILES)
SURROUNDINGS: Final = (
    *("root bubblewrap", "root limits", "root none"),
    *("ordinary bubblewrap", "ordinary limits", "ordinary none"),
    "root container",
)
CASES: Final = [
    *((around, group) for around in SURROUNDINGS for group in GROUPS),
    *(
        (around, group)
        for around in SURROUNDINGS
        if around.split()[1] in ("bubblewrap", "container")
        for group in OWN_FILES
    ),
]
BOUNDS: Final = "processes: 60, disk: 64M, files: 3000, scratch: 16M"


def test_every_kind_is_tried() -> None:
    assert set(KEYS) == set(HUNGER)
    assert len([kind for _, group in CASES for kind in group]) >= 140


@pytest.mark.parametrize(
    ("around", "kinds"), CASES, ids=lambda value: value if isinstance(value, str) else value[0]
)
@pytest.mark.req("R186")
def test_a_hungry_command_is_ended_by_a_limit_that_its_message_names(
    around: str, kinds: tuple[str, ...]
) -> None:
    steps = "".join(
        f"  {kind}: {{run: [python3, hungry.py, {kind}], touches: ['**'], retry: 1, on: {{failed: next}}}}\n"
        f"  after_{kind}: {{run: 'true'}}\n"
        for kind in kinds
    )
    with _project(f"steps:\n{steps}", around) as project:
        done = _run(project, around)

        assert done.code == 0, done.err + done.out
        ended = {step["path"]: step for step in done.data()["steps"]}
        for kind in kinds:
            assert ended[kind]["outcome"] == "failed", kind
            words = IN_CONTAINER.get(kind, KEYS[kind]) if around.endswith("container") else KEYS[kind]
            assert words in ended[kind]["message"], (kind, ended[kind]["message"])
            assert ended[f"after_{kind}"]["outcome"] == "passed"
        assert (project.marked(), project.leftovers()) == ([], [])


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("kind", ["fork", "large_file_in_tmpdir"])
@pytest.mark.req("R186")
def test_so_is_a_hungry_agent_gate_setup_or_reviewer(around: str, kind: str) -> None:
    """The attempt of the agent ends as failed with the reason, and the next one starts from the same files."""
    workflow = f"""
agents:
  hungry: {{type: command, command: "python3 hungry.py {kind}", price: {{input: 0, output: 0}}}}
  quiet: {{type: command, command: "echo done", price: {{input: 0, output: 0}}}}
steps:
  by_agent: {{agent: hungry, prompt: go, retry: 1, on: {{failed: next, error: next}}}}
  by_gate: {{agent: quiet, prompt: go, no_change: pass, retry: 1, gates: [{{run: [python3, hungry.py, {kind}]}}], on: {{failed: next}}}}
  by_setup: {{run: 'true', workspace: {{setup: [[python3, hungry.py, {kind}]]}}, retry: 1, on: {{error: next, failed: next}}}}
  by_reviewer: {{review: hungry, of: by_agent, on: {{error: next, rejected: next}}}}
  after: {{run: 'true'}}
"""
    with _project(workflow, around) as project:
        done = _run(project, around, "--no-human")

        messages = [str(end["result"].get("message")) for end in _ends(project)]
        named = [message for message in messages if KEYS[kind] in message]
        assert len(named) >= 4, messages
        ended = {step["path"]: step["outcome"] for step in done.data()["steps"]}
        assert ended["after"] == "passed", (done.code, done.err)
        assert (project.marked(), project.leftovers()) == ([], [])


@pytest.mark.parametrize("around", ["root bubblewrap", "ordinary bubblewrap", "ordinary limits"])
def test_the_files_that_podium_puts_into_a_workspace_are_not_counted(around: str) -> None:
    with _project(
        "steps:\n  look: {run: [sh, -c, 'sleep 1; echo x > made'], touches: [made]}\n", around
    ) as project:
        project.commit({f"many/{number}": "x" * 4000 for number in range(4000)}, "many")

        done = _run(project, around)

        assert done.code == 0, done.err + done.out


@pytest.mark.req("R186")
def test_the_record_of_an_attempt_and_doctor_say_what_the_machine_cannot_limit() -> None:
    with _project("steps:\n  look: {run: 'true'}\n", "ordinary limits") as project:
        assert _run(project, "ordinary limits").code == 0

        (end,) = _ends(project)
        doctor = podium_as(project, as_ordinary_user, "doctor", "--sandbox", "limits")
        facts = podium_as(project, as_ordinary_user, "doctor", "--sandbox", "limits", "--json").data()[
            "machine"
        ]
        assert (
            end["result"]["unbounded"]
            == facts["unbounded"]
            == ["folders in memory", "disk outside its folders"]
        )
        assert "not limited on this machine: folders in memory, disk outside its folders" in doctor.out
        assert "number of processes by user" in facts["in_force"]


def _run(project: Project, around: str, *more: str) -> Ended:
    user, level = around.split()
    args = ("run", "workflow.yaml", "--json", *more, *(() if level == "container" else ("--sandbox", level)))
    return project.podium(*args) if user == "root" else podium_as(project, as_ordinary_user, *args)


def _ends(project: Project) -> list[dict[str, Any]]:
    return [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]


@contextmanager
def _project(steps: str, around: str) -> Iterator[Project]:
    user, level = around.split()
    if user == "root" and os.geteuid():
        pytest.skip("not root")
    if level == "bubblewrap" and bubblewrap_probe.probe() is not None:
        pytest.skip("bubblewrap does not hold here")
    image = ""
    if level == "container":
        if made_python_image() != PYTHON_IMAGE:
            pytest.skip(made_python_image())
        image = f"level: container, image: {json.dumps(PYTHON_IMAGE)}, "
    files = {
        "hungry.py": Path(__file__).with_name("hungry.py").read_text("utf-8"),
        "workflow.yaml": f"podium: 1\nname: hungry\nsandbox: {{{image}{BOUNDS}}}\n{steps}",
    }
    # On a disk, because the tests themselves may run in memory.
    with tempfile.TemporaryDirectory(prefix="podium-hungry-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        with closing(new_project(Path(name) / "place", files)) as project:
            yield project
