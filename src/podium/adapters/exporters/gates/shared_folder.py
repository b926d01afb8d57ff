"""The `.workflow/` folder of the project, which everybody may read: it shows the newest run of each workflow.

Rule 1: files of people stay. Podium writes into folders that it made, each with a `.gitignore` for everything in it.
Rule 2: of several runs of one workflow, the newest writes and is answered here; the others only have their own folders.
Rule 3: the audit log keeps the lines of earlier runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from podium.adapters.exporters.gates.layout import FOLDER
from podium.errors import PathViolation
from podium.files import atomic
from podium.files.inside import read_file
from podium.views.plain import encode_utf8

AUDIT: Final = "audit"
SPECS: Final = "specs"
IGNORED: Final = "# Podium writes these files.\n*\n"
MODE: Final = 0o644
MOST_BYTES: Final = 16 << 20
"""Of a file that was there; a longer one is written anew."""


class SharedFolder:
    def __init__(self, project: Path, run: str, workflow: str) -> None:
        self._project = project.resolve()
        self.folder = project / FOLDER
        self._run = run
        self._record = self.folder / AUDIT / f".{workflow}.run"
        """The newest run of the workflow, and the files that it wrote, a line each."""
        self._written: dict[str, str] = {}

    def is_ours(self) -> bool:
        """Whether no newer run of the workflow writes here; the ids of runs sort by age."""
        return self._recorded()[0] <= self._run

    def write(self, texts: Mapping[str, str]) -> None:
        newest, *names = self._recorded()
        if newest > self._run:
            return
        for name in names:
            # An earlier run left it, or it no longer applies.
            if name not in texts and not name.startswith(f"{AUDIT}/"):
                (self.folder / name).unlink(missing_ok=True)
        for name, text in texts.items():
            self._put(name, self._with_earlier(name, text) if name.startswith(f"{AUDIT}/") else text)
        self._put(self._record.relative_to(self.folder).as_posix(), "\n".join((self._run, *texts, "")))

    def _recorded(self) -> list[str]:
        lines = _text(self._record).split("\n")
        return [line for line in lines if not Path(line).is_absolute() and ".." not in line][:-1] or [""]

    def _put(self, name: str, text: str) -> None:
        path = self.folder / name
        if not path.parent.resolve().is_relative_to(self._project):
            return  # A link leads out of the project.
        top = self.folder / Path(name).parts[0]
        if not top.is_dir():
            top.mkdir(mode=0o755, parents=True)
            atomic.write(top / ".gitignore", IGNORED.encode(), mode=MODE)
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        is_theirs = path.exists() and not (top / ".gitignore").is_file()
        if (self._written.get(name) == text and path.exists()) or (
            name.startswith(f"{SPECS}/") and is_theirs
        ):
            return
        atomic.write(path, encode_utf8(text), mode=MODE)
        self._written[name] = text

    def _with_earlier(self, name: str, text: str) -> str:
        path = self.folder / name
        earlier = [line for line in _text(path).splitlines() if not line.startswith(f"{self._run} ")]
        return "".join(
            f"{line}\n" for line in (*earlier, *(f"{self._run} {line}" for line in text.splitlines()))
        )


def _text(path: Path) -> str:
    """A file that an earlier run wrote; empty if there is none."""
    try:
        return read_file(path, MOST_BYTES).decode("utf-8", "replace")
    except (OSError, PathViolation):
        return ""
