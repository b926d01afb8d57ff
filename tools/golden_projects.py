"""Lets an old version of Podium run small projects, and packs each with the answers that this version gave about it.

    python tools/golden_projects.py --commit COMMIT PROGRAM [NAME ...]

PROGRAM is the path of the installed `podium` command of that version, built from COMMIT. Each project becomes
tests/golden/projects/NAME.tar.gz: its working files, `.git`, and `.podium` with the database and the run folders.
NAME.json has the answers. A project that is packed already is left as it is: what an old version wrote never changes.
No network and no agent program are needed; it takes about two minutes.
"""

# ruff: noqa: E402 (the cases must be found before they are imported)

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]  # `python tools/golden_projects.py` only knows its own folder

from tools import golden_ended, golden_formats, golden_open
from tools.golden_driver import Case, OldProject, read_answer

CASES: Final = (*golden_ended.CASES, *golden_open.CASES, *golden_formats.CASES)
TARGET: Final = ROOT / "tests/golden/projects"
PROJECT_QUESTIONS: Final = (
    ("runs", "--json"),
    ("inbox", "--json"),
    ("costs", "--json"),
    ("costs", "--by", "step", "--json"),
)
RUN_QUESTIONS: Final = (
    ("show", "RUN", "--json"),
    ("events", "RUN", "--json"),
    ("costs", "RUN", "--json"),
    ("verify", "RUN"),
    ("verify", "RUN", "--json"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program", type=Path, help="the `podium` command of the old version")
    parser.add_argument("--commit", required=True, help="the commit that the program was built from")
    parser.add_argument("names", nargs="*", metavar="NAME", help="projects to pack (default: all)")
    options = parser.parse_args()
    TARGET.mkdir(exist_ok=True)
    for case in CASES:
        if options.names and case.name not in options.names:
            continue
        if (TARGET / f"{case.name}.tar.gz").exists():
            print(f"{case.name}: packed already")
            continue
        with tempfile.TemporaryDirectory(prefix="podium-golden-") as folder:
            project = make_project(case, Path(folder), options.program.absolute())
            write_golden(case, project, options.commit)
    return 0


def make_project(case: Case, folder: Path, program: Path) -> OldProject:
    project = OldProject(folder / case.name, folder / "home", program)
    for path in (project.root, project.home / "bin"):
        path.mkdir(parents=True)
    for name, text in case.programs.items():
        path = project.home / "bin" / name
        path.write_text(text, "utf-8")
        path.chmod(0o755)
    project.write(case.files)
    if case.has_git:
        project.init_repository()
    return project


def write_golden(case: Case, project: OldProject, commit: str) -> None:
    case.play(project)
    hide_host(project.root)
    # Before any question is asked: a command that opens the database tidies up what a killed process left.
    archive = pack(project.root)
    answers = [stored_answer(project, question) for question in questions(case, project)]
    (TARGET / f"{case.name}.json").write_text(to_text(commit, answers), "utf-8")
    (TARGET / f"{case.name}.tar.gz").write_bytes(archive)
    print(f"{case.name}: {len(archive)} bytes, {len(answers)} answers")


def hide_host(root: Path) -> None:
    """Overwrite the locks: each names the machine and the last owner of its run, which nothing reads once that is dead."""
    for lock in root.glob(".podium/runs/*/lock"):
        lock.write_text('{"pid": 1, "host": "golden"}', "utf-8")


def pack(root: Path) -> bytes:
    """The folder as an archive that depends on nothing but names, modes and contents."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(filename="", fileobj=buffer, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for path in sorted(root.rglob("*")):
            archive.add(path, str(path.relative_to(root)), recursive=False, filter=without_owner)
    return buffer.getvalue()


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def questions(case: Case, project: OldProject) -> Iterator[tuple[str, ...]]:
    yield from PROJECT_QUESTIONS
    for run in project.runs():
        for question in RUN_QUESTIONS:
            yield tuple(run["run"] if word == "RUN" else word for word in question)
    yield from case.questions


def stored_answer(project: OldProject, question: tuple[str, ...]) -> dict[str, Any]:
    output = project.ask(*question)
    answer = read_answer(question, output.text)
    return {"question": list(question), "exit_code": output.exit_code, "answer": answer}


def to_text(commit: str, answers: list[dict[str, Any]]) -> str:
    """One line per answer, and one per event, so that a difference can be read."""
    lines = []
    for answer in answers:
        if answer["question"][0] == "events":
            events = ",\n  ".join(json.dumps(event) for event in answer["answer"])
            lines.append(json.dumps({**answer, "answer": "EVENTS"}).replace('"EVENTS"', f"[\n  {events}]"))
        else:
            lines.append(json.dumps(answer))
    return f'{{"commit": {json.dumps(commit)}, "answers": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    sys.exit(main())
