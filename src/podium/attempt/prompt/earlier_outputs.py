"""Places the answers of earlier steps: whole in the prompt as long as there is room, then as files of the workspace.

An agent without files (a service, a person who reads the prompt elsewhere) gets the beginning and the end instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from podium.attempt.artifacts import folder_of
from podium.attempt.workspace.workspace import Workspace
from podium.errors import PathViolation, disk_fault
from podium.fast_dataclass import dataclass
from podium.files.project_paths import STATE_DIR
from podium.git.trees.listing import FILE, Entry
from podium.git.workdir.folder import Owner, make_folder, write_entry
from podium.tasks.task import EarlierOutput
from podium.workflow.prompts.quoting import truncate_middle

ROOM_CHARS: Final = 24_000
"""Characters of whole answers in one prompt, about 6,000 tokens."""
CUT_CHARS: Final = 4_000
"""Characters of an answer that does not fit, for an agent that reads no files."""
FOLDER: Final = f"{STATE_DIR}/outputs"
"""In a workspace of its own; ignored like everything of Podium when the work is captured."""
HOME_FOLDER: Final = "outputs"
"""In the home of an attempt that works in the project itself, where Podium's folder is hidden."""


@dataclass(frozen=True, slots=True)
class PlacedOutputs:
    facts: Mapping[str, Any]
    """For the partial; empty if there is nothing to show."""
    files: Mapping[str, str]
    """The texts that the prompt only names, by path below the workspace or the home."""


def place_outputs(
    outputs: Sequence[EarlierOutput], quote: Callable[[str], str], *, reads_files: bool, in_project: bool
) -> PlacedOutputs:
    whole: list[Mapping[str, Any]] = []
    files: list[Mapping[str, Any]] = []
    cut: list[Mapping[str, Any]] = []
    texts: dict[str, str] = {}
    room = ROOM_CHARS
    for output in outputs:
        chars = len(output.text)
        facts = {"step": output.step, "chars": chars}
        if chars <= room:
            room -= chars
            whole.append({**facts, "text": quote(output.text)})
        elif reads_files:
            name = f"{folder_of(output.path)}.md"
            texts[str(PurePosixPath(HOME_FOLDER if in_project else FOLDER, name))] = output.text
            files.append(
                {**facts, "file": f"$HOME/{HOME_FOLDER}/{name}" if in_project else f"{FOLDER}/{name}"}
            )
        else:
            cut.append({**facts, "text": quote(truncate_middle(output.text, CUT_CHARS))})
    return PlacedOutputs({"whole": whole, "files": files, "cut": cut} if outputs else {}, texts)


def write_outputs(workspace: Workspace, files: Mapping[str, str], owner: Owner | None) -> None:
    """Without following links, which the tree may have in the place of the folder."""
    root = workspace.home if workspace.snapshot is None else workspace.folder
    for path, text in files.items():
        folder, _, name = path.rpartition("/")
        content = text.encode("utf-8", "surrogateescape")
        try:
            with make_folder(root, folder, owner) as fd:
                write_entry(fd, name, Entry(FILE, ""), content, owner)
        except OSError as error:
            if disk_fault(error) is not None:
                raise
            raise PathViolation(
                f"the result of an earlier step cannot be put into {path}: {error.strerror}",
                hint="the tree has something else there; Podium needs this folder",
            ) from error
