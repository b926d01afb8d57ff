"""A workspace that a hostile agent has used shows the next agent nothing of it."""

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
from tests.e2e.kit import Project, closing, new_project
from tests.security.kit import as_ordinary_user, podium_as
from tests.security.leftovers.kinds import FILES as FILES_LEFT
from tests.security.leftovers.kinds import KINDS, MARKS, PRELUDE

pytestmark = pytest.mark.security

PER_RUN: Final = 11
LEVELS: Final = ("bubblewrap", "limits")
GROUPS: Final = [tuple(KINDS)[at : at + PER_RUN] for at in range(0, len(KINDS), PER_RUN)]
OUTSIDE_GIT: Final = tuple({**FILES_LEFT, **MARKS})
GROUPS_OUTSIDE_GIT: Final = [OUTSIDE_GIT[at : at + 13] for at in range(0, len(OUTSIDE_GIT), 13)]
LOOK: Final = Path(__file__).with_name("look.py").read_text("utf-8")
HOSTILE: Final = """import errno, re, sys
kinds = {kinds!r}
place, name = re.search("PLACE=([A-Z]*) KIND=([a-z_]+)", sys.stdin.read()).groups()
{prelude}
if place:
    os.chdir(os.environ[place])
    for path in ("README.md", "docs/a.md", "src/app.py", "src/deep/er/b.py", "tools/run.sh", "build/x"):
        write(path, "hello\\n")
    os.symlink("README.md", "current")
try:
    exec(kinds[name])
except OSError as error:
    if error.errno not in (errno.ENOTSUP, errno.ENOTTY):  # Attributes and flags that this file system does not have.
        raise
print("done")
sys.exit(3)
"""
FILES: Final = {
    "README.md": "hello\n",
    "docs/a.md": "a\n",
    "src/app.py": "x = 1\n",
    "src/deep/er/b.py": "y = 1\n",
    "tools/run.sh": "#!/bin/sh\n",
    "tools/look.py": LOOK,
    "tools/hostile.py": HOSTILE.format(kinds=KINDS, prelude=PRELUDE),
    ".gitignore": ".podium/\n*.log\nbuild/\nnode_modules/\n",
}


def test_there_are_enough_kinds() -> None:
    assert (len(KINDS) >= 80, len(OUTSIDE_GIT) >= 50) == (True, True)


@pytest.mark.parametrize("place", ["HOME", "TMPDIR"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kinds", GROUPS_OUTSIDE_GIT, ids=[group[0] for group in GROUPS_OUTSIDE_GIT])
def test_outside_git_the_private_folders_are_new(kinds: tuple[str, ...], level: str, place: str) -> None:
    """There the files of the project are the work itself; what belongs to an attempt is its home and its tmp."""
    if level == "bubblewrap" and bubblewrap_probe.probe() is not None:
        pytest.skip("bubblewrap does not hold here")
    files = {**FILES, "workflow.yaml": _workflow(kinds, place)}
    with _open_folder() as folder, closing(new_project(folder / "place", files, git=False)) as project:
        # Root cannot sandbox a step that works in the project itself.
        done = podium_as(project, as_ordinary_user, "run", "workflow.yaml", "--json", "--sandbox", level)

        assert done.code == 0, done.err
        inventories = _inventories(project, kinds)
        first = inventories.pop("look")
        for step, seen in inventories.items():
            for name in ("HOME", "TMPDIR"):
                assert seen[name] == first[name], step
        assert (first["HOME"][1], first["TMPDIR"][1]) == ([], [])


@pytest.mark.parametrize(
    ("user", "level"), [("root", "bubblewrap"), ("ordinary", "bubblewrap"), ("ordinary", "limits")]
)
@pytest.mark.parametrize("kinds", GROUPS, ids=[group[0] for group in GROUPS])
def test_the_next_agent_finds_nothing_of_it(kinds: tuple[str, ...], level: str, user: str) -> None:
    """Each hostile attempt is followed by one that lists what it finds; the first one had a new workspace."""
    if level == "bubblewrap" and bubblewrap_probe.probe() is not None:
        pytest.skip("bubblewrap does not hold here")
    if user == "root" and os.geteuid():
        pytest.skip("not root")
    with _open_folder() as folder, closing(_project(folder / "place")) as project:
        project.commit({"workflow.yaml": _workflow(kinds)}, "workflow")
        args = ("run", "workflow.yaml", "--json", "--sandbox", level)

        done = project.podium(*args) if user == "root" else podium_as(project, as_ordinary_user, *args)

        assert done.code == 0, done.err
        inventories = _inventories(project, kinds)
        inodes = [seen.pop("inode") for seen in inventories.values()]
        assert len(set(inodes)) < len(inodes), "no workspace was used again"
        first = inventories.pop("look")
        for step, seen in inventories.items():
            assert seen == first, f"{step}: {_difference(first, seen)}"


def _workflow(kinds: tuple[str, ...], place: str = "") -> str:
    agents = "".join(
        f"  {name}: {{type: command, command: [python3, tools/{name}.py], price: {{input: 0, output: 0}},"
        ' exit_codes: {"3": failed}}\n'
        for name in ("hostile", "look")
    )
    pairs = "".join(
        f"  {kind}: {{agent: hostile, prompt: PLACE={place} KIND={kind}, retry: 1, on: {{failed: next}}}}\n"
        f"  look_{kind}: {{agent: look, prompt: look}}\n"
        for kind in kinds
    )
    return f"podium: 1\nname: reuse\nagents:\n{agents}steps:\n  look: {{agent: look, prompt: look}}\n{pairs}"


@contextmanager
def _open_folder() -> Iterator[Path]:
    """A temporary folder that an ordinary user can reach."""
    with tempfile.TemporaryDirectory(prefix="podium-leftovers-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def _project(place: Path) -> Project:
    project = new_project(place, FILES)
    (project.root / "current").symlink_to("README.md")
    (project.root / "tools/run.sh").chmod(0o755)
    project.git("add", "-A")
    module = project.git("rev-parse", "HEAD")
    project.git("update-index", "--add", "--cacheinfo", f"160000,{module},vendor/lib")
    project.git("commit", "-q", "-m", "a link, a program and a submodule")
    (project.root / "vendor/lib").mkdir(parents=True)
    return project


def _inventories(project: Project, kinds: tuple[str, ...]) -> dict[str, Any]:
    """What each of the looking agents listed."""
    events = project.events(project.run_id())
    ended = {event["path"]: event for event in events if event["type"] == "AttemptEnded"}
    assert {kind: ended[kind]["kind"] for kind in kinds} == dict.fromkeys(kinds, "failed"), (
        "a kind did not run"
    )
    logs = project.root / ".podium/runs" / project.run_id() / "agent_logs"
    looks = [path for path in ended if path.startswith("look")]
    assert set(looks) == {"look", *(f"look_{kind}" for kind in kinds)}
    attempts = {path: (ended[path]["attempt"], ended[path]["kind"]) for path in looks}
    assert attempts == dict.fromkeys(looks, (1, "ok")), "a look was repeated"
    texts = {path: (logs / path / "1/stderr.log").read_text("utf-8") for path in looks}
    unlike = {path: text[:1000] for path, text in texts.items() if "FOUND{" not in text}
    assert not unlike
    return {path: json.loads(text.partition("FOUND")[2]) for path, text in texts.items()}


def _difference(first: dict[str, Any], seen: dict[str, Any]) -> dict[str, Any]:
    return {
        name: (first.get(name), seen.get(name))
        for name in first.keys() | seen.keys()
        if first.get(name) != seen.get(name)
    }
