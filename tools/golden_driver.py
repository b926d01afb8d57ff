"""Shared by the golden projects: what one consists of, and how an installed `podium` program is driven in it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

PATIENCE_S: Final = 60.0
AUTHOR: Final = {
    f"GIT_{person}_{field}": value
    for person in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "Ann"), ("EMAIL", "ann@example.com"), ("DATE", "1700000000 +0000"))
}
IGNORE_RULES: Final = """\
.podium/*
!.podium/config.yaml
!.podium/partials/
/diary.txt
/evidence/
/flags/
"""
AGENTS: Final = """\
podium: 1
sandbox: limits
agents:
  writer: {type: scripted, script: cast.yaml}
  critic: {type: scripted, script: cast.yaml}
roles:
  judge: {agent: critic, system: You judge texts., touches: []}
  editor: {agent: critic, system: You edit texts., touches: []}
"""
"""The head of most workflows. Their roles are their own, because a shipped role is part of the definition of a run that
uses it: if its text changed, `podium resume` would refuse the run."""
PARTIALS: Final = {
    ".podium/partials/excerpt.md": "This is step {{ step.name }}.\n",
    ".podium/partials/said.md": '{{ name }} failed.{% if kind == "person" %} {{ message }}{% endif %}\n',
    ".podium/partials/feedback.md": "{% for entry in latest %}\nFeedback: {{ entry }}\n{% endfor %}\n",
    ".podium/partials/findings.md": "{% for finding in findings %}\n{{ finding.issue }}\n{% endfor %}\n",
    ".podium/partials/judged.md": (
        "{{ diff }}\n{% for result in results %}\n{{ result.output }}\n{% endfor %}\n"
        "{% if findings %}\n{{ findings }} {{ nonce }}\n{% endif %}\n"
    ),
    ".podium/partials/verdict.md": (
        "{% if phrase %}\n{{ phrase }} {{ shape }}\n{% endif %}\nnonce: {{ nonce }}\ntree: {{ tree }}\n"
    ),
}
"""The project's own wording of everything that Podium adds to a prompt. A recording, and a result to be reused, belongs to
exactly one prompt; with the shipped partials, rewording one of them would lose it."""


def waiting_script(name: str, indent: str) -> str:
    """A command that ends when the flag `finish_NAME` appears in the project, and writes each start into the diary."""
    lines = (
        f"echo {name} >> diary.txt",
        "mkdir -p flags",
        f"echo $$ > flags/{name}",
        f"while ! test -e flags/finish_{name}; do sleep 0.05; done",
    )
    return "".join(f"{indent}{line}\n" for line in lines)


def waiting_step(name: str) -> str:
    """The keys of a step that runs this command in the project's own folder, not in a clone of it."""
    return f"""
    workspace: inplace
    run:
      script: |
{waiting_script(name, " " * 8)}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A project to be packed."""

    name: str
    files: Mapping[str, str]
    play: Callable[[OldProject], None]
    """Has the old version run the workflows."""
    questions: tuple[tuple[str, ...], ...] = ()
    """Commands whose answers are stored, besides those for every project and every run."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """Agents that are installed while the old version runs, and absent afterwards."""
    has_git: bool = True


def read_answer(question: Sequence[str], text: str) -> Any:
    """JSON as data, so that it can be compared by its fields; `events` prints one value per line."""
    if "--json" not in question:
        return text
    return [json.loads(line) for line in text.splitlines()] if question[0] == "events" else json.loads(text)


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What the program printed on its standard output, and its exit code."""

    exit_code: int
    text: str


@dataclass(frozen=True, slots=True)
class OldProject:
    """A project folder and the program of the old version that works in it."""

    root: Path
    home: Path
    program: Path

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            if text.startswith("#!"):
                path.chmod(0o755)

    def git(self, *arguments: str) -> None:
        environment = {**self.environment(), **AUTHOR}
        subprocess.run(("git", *arguments), cwd=self.root, env=environment, check=True)  # noqa: S607

    def init_repository(self) -> None:
        # Without the templates of this machine's git: its sample hooks would be most of each archive.
        self.git("init", "--quiet", "--template=", "--initial-branch=main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.com")
        self.write({".gitignore": IGNORE_RULES})
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=first")

    def ask(self, *arguments: str) -> CommandOutput:
        """Run a command to its end, without a terminal."""
        completed = subprocess.run(
            (self.program, *arguments), cwd=self.root, env=self.environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        if completed.returncode not in (0, 1, 4, 5, 6, 124, 130) or "Traceback" in completed.stderr:
            raise RuntimeError(f"podium {' '.join(arguments)}: {completed.returncode} {completed.stderr}")
        return CommandOutput(completed.returncode, completed.stdout)

    def podium(self, *arguments: str, exit_code: int = 0) -> str:
        """Like `ask`, for a command whose exit code is certain."""
        output = self.ask(*arguments)
        if output.exit_code != exit_code:
            raise RuntimeError(f"podium {' '.join(arguments)}: {output.exit_code} {output.text}")
        return output.text

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command in a process group of its own."""
        return subprocess.Popen(
            (self.program, *arguments), cwd=self.root, env=self.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def finish(self, name: str) -> None:
        """Let the waiting command of this name end."""
        self.write({f"flags/finish_{name}": ""})

    def wait_for(self, name: str) -> None:
        """Block until the waiting command of this name is running."""
        flag = self.root / "flags" / name
        self.wait_until(lambda: flag.exists() and flag.read_text("utf-8") != "", f"{name} was not started")

    def wait_until(self, condition: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(complaint)
            time.sleep(0.02)

    def kill_during(self, name: str, *arguments: str, unread: tuple[str, ...] = ()) -> None:
        """Start a command, and SIGKILL it together with the waiting command of this name once that is running.

        `unread` is a command that is put into the queue of the run before the kill, and never read by the old version.
        """
        child = self.start(*arguments)
        self.wait_for(name)
        if unread:
            os.kill(child.pid, signal.SIGSTOP)
            sender = self.start(*unread)
            self.wait_until(self.has_unread, "the queue has no command")
            os.killpg(sender.pid, signal.SIGKILL)
            sender.wait()
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        os.kill(int((self.root / "flags" / name).read_text("utf-8")), signal.SIGKILL)

    def has_unread(self) -> bool:
        """Whether the queue holds a command without a reply."""
        database = sqlite3.connect(f"file:{self.root}/.podium/podium.db?mode=ro", uri=True)
        with closing(database):
            return database.execute("select 1 from letter where reply is null").fetchone() is not None

    def runs(self) -> list[dict[str, Any]]:
        """All runs, the newest first."""
        listing: list[dict[str, Any]] = json.loads(self.podium("runs", "--json"))
        return listing

    def newest_run(self, workflow: str) -> str:
        return next(str(run["run"]) for run in self.runs() if run["workflow"] == workflow)

    def environment(self) -> dict[str, str]:
        return {
            # The programs in home/bin are installed only while the old version runs.
            "PATH": f"{self.home}/bin:{os.environ.get('PATH', os.defpath)}",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PODIUM_USER": "ann",
        }
