"""Tries the commands that may prove a change, where a gate would run them: only what works there is proposed."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from podium.app.author.detect import Command, Files, Scan, Stack
from podium.app.author.detect_python import generated_files
from podium.app.author.load import open_workflow
from podium.app.gate_trials import base_tree
from podium.attempt.command.look_up import missing_needs
from podium.attempt.command.trial import Trial, try_command
from podium.core.queries.static_names import StaticNames
from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.files.project_paths import STATE_DIR
from podium.git.repository import read_ignored

if TYPE_CHECKING:
    from podium.attempt.host import Host
    from podium.core.model import Step, Workflow

TRY_S: Final = 300.0
MAX_COPIED: Final = 20
_NAME: Final = re.compile(r"\W+")
_TOOLCHAINS: Final = ("venv", "node_modules", "__pycache__", "build", "dist", "site-packages")


@dataclass(frozen=True, slots=True)
class TriedGate:
    """A command that works, as a gate."""

    name: str
    command: Command
    folder: str
    trial: Trial


@dataclass(frozen=True, slots=True)
class TriedGates:
    gates: tuple[TriedGate, ...] = ()
    refused: tuple[str, ...] = ()
    """What was tried or looked for and is not proposed, with the reason."""
    copies: tuple[str, ...] = ()
    """Files that git ignores and the gates need."""
    targets: frozenset[str] = frozenset()
    """Targets of the Makefile that pass."""


def candidates_workflow(scan: Scan, targets: tuple[str, ...], copies: tuple[str, ...]) -> str:
    """A workflow with each candidate as a step, so that the settings of the project apply to it."""
    steps = {
        f"c{number}": {"run": list(command.argv), **({"dir": stack.folder} if stack.folder else {})}
        for number, (stack, command) in enumerate(_candidates(scan))
    }
    steps |= {f"t{number}": {"run": ["make", target]} for number, target in enumerate(targets)}
    workspace = {"workspace": {"copy": list(copies)}} if copies else {}
    return json.dumps(
        {"podium": 1, "name": "init", **workspace, "steps": steps or {"none": {"run": ["true"]}}}
    )


def load_candidates(text: str, project: Path, user_dir: Path) -> Workflow:
    with tempfile.TemporaryDirectory(prefix="podium-init-") as folder:
        place = Path(folder) / "init.yaml"
        place.write_text(text, "utf-8")
        config = project / STATE_DIR / "config.yaml"
        if config.is_file():
            (Path(folder) / STATE_DIR).mkdir()
            shutil.copy(config, Path(folder) / STATE_DIR)
        return open_workflow(place, user_dir=user_dir, project=Path(folder))


def _candidates(scan: Scan) -> Iterator[tuple[Stack, Command]]:
    for stack in (*scan.stacks, *scan.packages):
        for command in stack.commands:
            yield stack, command


class Trials:
    """Tries the candidates of a project, each at most once."""

    def __init__(
        self, host: Host, scan: Scan, load: Callable[[str], Workflow], tell: Callable[[str], None]
    ) -> None:
        self._host = host
        self._scan = scan
        self._load = load
        self._tell = tell
        self._tree: Tree | None = None
        self._steps: Mapping[str, Step] = {}
        self._targets: tuple[str, ...] = ()
        self.copies: tuple[str, ...] = ()

    async def all(self, targets: tuple[str, ...]) -> TriedGates:
        self._tree = await to_thread.run_sync(base_tree, self._host)
        self._targets = targets
        self._prepare(targets, ())
        gates, refused = await self._stacks(self._scan.stacks)
        tested = {
            stack.language
            for stack in self._scan.stacks
            if any(gate.command in stack.commands and gate.command.purpose == "tests" for gate in gates)
        }
        others = tuple(stack for stack in self._scan.packages if stack.language not in tested)
        if others:
            more, reasons = await self._stacks(others)
            gates, refused = [*gates, *more], [*refused, *reasons]
        passing = [
            target
            for number, target in enumerate(targets)
            if (await self._try(f"t{number}", ("make", target))).status == "passed"
        ]
        return TriedGates(tuple(gates), tuple(refused), self.copies, frozenset(passing))

    def _prepare(self, targets: tuple[str, ...], copies: tuple[str, ...]) -> None:
        workflow = self._load(candidates_workflow(self._scan, targets, copies))
        self._steps = {step.name: step for step in workflow.body.steps}
        self.copies = copies

    async def _stacks(self, stacks: tuple[Stack, ...]) -> tuple[list[TriedGate], list[str]]:
        gates: list[TriedGate] = []
        refused: list[str] = []
        several = len(stacks) > 1
        for stack in stacks:
            for purpose in ("tests", "lint", "types"):
                commands = [command for command in stack.commands if command.purpose == purpose]
                name = _gate_name(stack, purpose, several=several)
                chosen, reasons = await self._first_that_works(stack, commands)
                if chosen is not None:
                    gates.append(replace(chosen, name=name))
                else:
                    refused += [f"{name}: {reason}" for reason in reasons]
        return gates, refused

    async def _first_that_works(
        self, stack: Stack, commands: list[Command]
    ) -> tuple[TriedGate | None, list[str]]:
        """The first candidate that works, or why each does not."""
        reasons: dict[str, str] = {}
        for command in commands:
            key = self._key(stack, command)
            trial = await self._try(key, command.argv)
            if not _works(command, trial) and await self._copy_generated(stack, trial):
                trial = await self._try(key, command.argv)
            if _works(command, trial):
                return TriedGate("", command, stack.folder, trial), []
            reasons.setdefault(_reason(command, trial), " ".join(command.argv))
        return None, [f"{text}: {reason}" for reason, text in reasons.items()]

    async def _copy_generated(self, stack: Stack, trial: Trial) -> bool:
        """Copy generated files that git ignores if an import failed; whether there is something new to try."""
        if self.copies or self._host.repository is None or "Error" not in trial.message:
            return False
        ignored = await to_thread.run_sync(read_ignored, self._host.repository)
        names = {name for name, _ in generated_files(Files(self._host.project / stack.folder))}
        own = {f"{stack.folder}/{name}" if stack.folder else name for name in names}
        copies = [path for path in ignored if path in own or _is_generated_module(path)]
        if not copies or len(copies) > MAX_COPIED:
            return False
        self._prepare(self._targets, tuple(copies))
        return True

    def _key(self, stack: Stack, command: Command) -> str:
        return next(
            f"c{number}"
            for number, candidate in enumerate(_candidates(self._scan))
            if candidate == (stack, command)
        )

    async def _try(self, key: str, argv: tuple[str, ...]) -> Trial:
        self._tell(f"trying {' '.join(argv)}")
        step, names = self._steps[key], StaticNames({}, {})
        # First, because some programs search the network for what they do not find.
        missing = await missing_needs(self._host, step, names, self._tree, path=key)
        if missing:
            return Trial("missing", f"it does not find {', '.join(missing)}")
        return await try_command(self._host, step, names, self._tree, path=key, timeout_s=TRY_S)


def _works(command: Command, trial: Trial) -> bool:
    """Tests may be red, for the work may be to mend them, but some must have run; other commands must pass."""
    if command.purpose == "tests":
        return trial.status in ("passed", "red") and bool(trial.tests)
    return trial.status == "passed"


def _reason(command: Command, trial: Trial) -> str:
    if trial.status == "passed":
        return (
            "it passes, but its output does not tell that any test ran; add it as a gate yourself if it tests"
        )
    if trial.status == "red" and command.purpose != "tests":
        return f"it fails without any change: {trial.message}"
    return trial.message


def _is_generated_module(path: str) -> bool:
    parts = path.split("/")
    is_toolchain = any(word in part for part in parts[:-1] for word in _TOOLCHAINS)
    return parts[-1] in ("_version.py", "version.py", "_build_info.py") and not is_toolchain


def _gate_name(stack: Stack, purpose: str, *, several: bool) -> str:
    if stack.folder:
        return _NAME.sub("_", f"{stack.folder}_{purpose}").lower()
    return f"{stack.language}_{purpose}" if several else purpose


def missing_generated(project: Path, scan: Scan) -> tuple[str, ...]:
    """Files that a build should have written and that are not there."""
    folders = ["", *(stack.folder for stack in scan.packages)]
    return tuple(
        f"{name} is written by {tool} and is not there: build the project once, for example pip install -e ."
        for folder in dict.fromkeys(folders)
        for name, tool in generated_files(Files(project / folder))
        if not (project / folder / name).is_file()
    )
