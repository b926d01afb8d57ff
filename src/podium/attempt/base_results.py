"""Remembers how commands ended on trees that no agent has changed, so that a run does not repeat them.

A result is valid for one command, one tree and one toolchain. It is stored in the user's cache folder, where a missing or
unreadable file only means that the command runs again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from anyio import to_thread

from podium.attempt.artifacts import write_bytes
from podium.attempt.command.trial import Trial, try_command
from podium.attempt.host import Host
from podium.attempt.launch import declared_env
from podium.attempt.workspace.setup import copied_files, setup_request
from podium.core.expressions.nodes import ExprError, Names, NeedFact
from podium.core.expressions.templates import fill, fill_argv
from podium.core.model import Command, Step
from podium.core.step_settings import written_values
from podium.core.types import Tree
from podium.files.project_paths import ProjectPaths
from podium.tasks.command_work import command_key, to_plain

LASTING: Final = ("passed", "red", "no_tests")
"""What depends on the key alone; a program that is missing may be installed, and a slow machine may be idle later."""
MAX_TREES: Final = 50
"""Stored results of one command."""
_INSTALLED: Final = (
    "pyvenv.cfg",
    "lib*/python*/site-packages",
    ".package-lock.json",
    ".yarn-integrity",
    ".modules.yaml",
)
"""Files and folders of a toolchain that an installation changes."""


async def try_on_base(
    host: Host, step: Step, names: Names, tree: Tree | None, *, path: str, anew: bool = False
) -> Trial:
    """Runs the command on the tree unless its result there is stored; with `anew` it runs in any case."""
    file = await to_thread.run_sync(result_file, host, step, names, tree)
    stored = None if anew or file is None else load_result(file)
    if stored is not None:
        return stored
    trial = await try_command(host, step, names, tree, path=path)
    if file is not None:
        save_result(file, trial)
    return trial


def result_file(host: Host, step: Step, names: Names, tree: Tree | None) -> Path | None:
    """None outside of git, where there is no tree, and if the command depends on values that only a run has."""
    if tree is None:
        return None
    try:
        key = (*command_key(step, names), *_surroundings(host, step, names))
    except (ExprError, NeedFact):
        return None
    name = hashlib.sha256(repr(key).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return ProjectPaths(host.project).base_results / name / f"{tree}.json"


def load_result(file: Path) -> Trial | None:
    try:
        return Trial(**json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def save_result(file: Path, trial: Trial) -> None:
    if trial.status not in LASTING:
        return
    write_bytes(file, json.dumps(asdict(trial)).encode("utf-8"))
    oldest = sorted(file.parent.glob("*.json"), key=_changed)[:-MAX_TREES]
    for path in oldest:
        path.unlink(missing_ok=True)


def _surroundings(host: Host, step: Step, names: Names) -> Iterator[object]:
    """What the result depends on besides the command and the tree."""
    passed, _ = declared_env(step, names)
    yield {name: host.host_env.get(name) for name in passed}
    yield host.sandbox_of(step).level
    yield to_plain(fill(written_values(step.settings, ("sandbox",))[0], names))
    path = host.host_env.get("PATH", "")
    yield path
    verb = step.verb
    assert isinstance(verb, Command)
    program = verb.shell or "bash" if verb.script is not None else fill_argv(verb.argv, names)[0]
    yield _stamp(Path(shutil.which(program, path=path) or "/"))
    for folder in host.toolchain:
        yield folder, [_stamp(each) for name in _INSTALLED for each in (host.project / folder).glob(name)]
    yield [_stamp(host.project / name) for name in copied_files(host.project, setup_request(step, names))]


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), status.st_size, status.st_mtime_ns


def _changed(path: Path) -> int:
    return _stamp(path)[2]
