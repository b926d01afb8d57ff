"""Records `podium demo`, `podium show` and the report of `podium compare` in a real terminal, as SVG files for the docs.

tmux is the terminal: its screen is read ten times per second, and each different screen becomes a frame.

    python tools/recording.py            writes docs/images/*.svg
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
SUITE: Final = Path(__file__).parents[1] / "examples" / "compare" / "small_bugs"
COLUMNS: Final = 100
WIDE: Final = 130
"""For tables."""
ROWS: Final = 30
EVERY_S: Final = 0.1
LONGEST_PAUSE_S: Final = 1.2
"""Pauses are shortened to this; the screens themselves are as they were."""
LAST_FRAME_S: Final = 6.0
DONE: Final = "recording-is-done"
CELL_WIDTH: Final = 8.4
LINE_HEIGHT: Final = 18
MARGIN: Final = 14
PALETTE: Final = {
    30: "#484f58", 31: "#ff7b72", 32: "#3fb950", 33: "#d29922", 34: "#58a6ff", 35: "#bc8cff", 36: "#39c5cf", 37: "#b1bac4",
    90: "#6e7681", 91: "#ffa198", 92: "#56d364", 93: "#e3b341", 94: "#79c0ff", 95: "#d2a8ff", 96: "#56d4dd", 97: "#ffffff",
}  # fmt: skip
SGR: Final = re.compile(r"\x1b\[([0-9;]*)m")
WORDS = re.compile(r"\S+(?: \S+)*")
"""What is between two spaces or more."""


@dataclass(frozen=True, slots=True)
class Frame:
    at: float
    lines: tuple[str, ...]


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="podium-recording-") as name:
        project = Path(name) / "cart"
        frames = record(f"podium demo --folder {project.name}", Path(name))
        (IMAGES / "demo.svg").write_text(animated(frames), "utf-8")
        (IMAGES / "show.svg").write_text(still(record("podium show", project)[-1]), "utf-8")
        (IMAGES / "compare.svg").write_text(compared(Path(name) / "compare"), "utf-8")
    for image in sorted(IMAGES.glob("*.svg")):
        print(f"{image.name}: {image.stat().st_size // 1024} KB")


def compared(folder: Path) -> str:
    """The report of a suite that ships, after all of its runs."""
    shutil.copytree(SUITE, folder)
    command = (
        sys.executable,
        "-m",
        "podium",
        "compare",
        "suite.yaml",
        "--seed",
        "7",
        "--yes",
        "--sandbox",
        "limits",
    )
    subprocess.run((*command, "--json"), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return still(record("podium compare suite.yaml --report", folder, columns=WIDE)[-1], columns=WIDE)


def record(command: str, folder: Path, columns: int = COLUMNS) -> list[Frame]:
    """The screens of a command from its start until its end; the first line is what a person would type."""
    frames: list[Frame] = []
    with terminal(command, folder, columns) as read_screen:
        began, screen = time.monotonic(), ""
        while DONE not in screen:
            if time.monotonic() - began > 120:
                sys.exit(f"{command}: no end after two minutes")
            screen = read_screen()
            lines = tuple(line for line in _lines(screen) if DONE not in line)
            if not frames or frames[-1].lines != lines:
                frames.append(Frame(time.monotonic() - began, lines))
            time.sleep(EVERY_S)
    return frames


@contextmanager
def terminal(command: str, folder: Path, columns: int) -> Iterator[Callable[[], str]]:
    programs = Path(sys.executable).parent
    shown = f"printf '\\033[32m$\\033[0m %s\\n' {shlex.quote(command)}"
    script = f"{shown}; {command}; echo {DONE}; cat"
    variables = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "tmux-256color",
    }
    started = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), "sh", "-c", script]
    tmux = ("tmux", "-L", f"recording-{uuid.uuid4().hex[:8]}", "-f", "/dev/null")
    window = (
        "new-session",
        "-d",
        "-x",
        str(columns),
        "-y",
        str(ROWS),
        "-c",
        str(folder),
        shlex.join(started),
    )
    subprocess.run((*tmux, "-u", *window), check=True)

    def read_screen() -> str:
        capture = (*tmux, "capture-pane", "-p", "-e")
        screen = subprocess.run(capture, capture_output=True, text=True, check=True).stdout
        # The places on this machine mean nothing to a reader.
        for path in (f"{programs}/", f"{folder}/"):
            screen = screen.replace(path, "")
        return screen

    try:
        yield read_screen
    finally:
        subprocess.run((*tmux, "kill-server"), check=True)


def _lines(screen: str) -> Iterator[str]:
    """The lines, each with the colour that it begins with: tmux names a colour only where it changes."""
    active = ""
    for line in screen.rstrip("\n").split("\n"):
        yield f"\x1b[{active}m{line}" if active else line
        for codes in SGR.findall(line):
            active = "" if not codes or codes.split(";")[0] == "0" else codes


def animated(frames: list[Frame]) -> str:
    """All frames below each other; a step of the animation moves the next one into view."""
    times = list(_shortened(frames))
    total = times[-1] + LAST_FRAME_S
    stops = "".join(
        f"{100 * at / total:.3f}%{{transform:translateY({-number * _height():.0f}px)}}"
        for number, at in enumerate(times)
    )
    style = f"@keyframes play{{{stops}}}#film{{animation:play {total:.2f}s steps(1,end) infinite}}"
    lines: dict[str, int] = {}
    groups = "".join(_uses(frame, number, lines) for number, frame in enumerate(frames))
    defined = "".join(f'<g id="l{number}">{_spans(line)}</g>' for line, number in lines.items())
    return _picture(f'<defs>{defined}</defs><g id="film">{groups}</g>', style)


def still(frame: Frame, columns: int = COLUMNS) -> str:
    lines: dict[str, int] = {}
    groups = _uses(frame, 0, lines)
    defined = "".join(f'<g id="l{number}">{_spans(line)}</g>' for line, number in lines.items())
    return _picture(f"<defs>{defined}</defs>{groups}", "", rows=len(frame.lines), columns=columns)


def _shortened(frames: list[Frame]) -> Iterator[float]:
    at, before = 0.0, frames[0].at
    for frame in frames:
        at += min(frame.at - before, LONGEST_PAUSE_S)
        before = frame.at
        yield at


def _uses(frame: Frame, number: int, lines: dict[str, int]) -> str:
    """A frame as references to its lines, most of which other frames have too."""
    top = number * _height() + MARGIN
    return "".join(
        f'<use href="#l{lines.setdefault(line, len(lines))}" y="{top + (row + 1) * LINE_HEIGHT:.0f}"/>'
        for row, line in enumerate(frame.lines)
        if line.strip()
    )


def _spans(line: str) -> str:
    """The parts of a line, each with its colour; their places are fixed, so the font may have any width."""
    column, style, parts = 0, "", []
    for index, piece in enumerate(SGR.split(line)):
        if index % 2:
            style = _style(piece, style)
        elif piece:
            # Browsers collapse spaces in a row, and stretch what is left to the length.
            for words in WORDS.finditer(piece):
                x, length = (column + words.start()) * CELL_WIDTH, len(words[0]) * CELL_WIDTH
                place = f'x="{MARGIN + x:.1f}" textLength="{length:.1f}"'
                parts.append(f"<text {place}{style}>{escape(words[0])}</text>")
            column += len(piece)
    return "".join(parts)


def _style(codes: str, before: str) -> str:
    values = [int(code) for code in codes.split(";") if code] or [0]
    colour = next((PALETTE[value] for value in values if value in PALETTE), None)
    if colour is not None:
        return f' fill="{colour}"'
    if 1 in values:
        return ' font-weight="bold"'
    if 2 in values:
        return f' fill="{PALETTE[90]}"'
    return "" if {0, 22, 39} & set(values) else before


def _picture(content: str, style: str, rows: int = ROWS, columns: int = COLUMNS) -> str:
    width, height = columns * CELL_WIDTH + 2 * MARGIN, _height(rows)
    look = "text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        ' fill="#c9d1d9">'
        f"<style>{look}{style}</style>"
        f'<rect width="100%" height="100%" rx="6" fill="#0d1117"/>{content}</svg>\n'
    )


def _height(rows: int = ROWS) -> float:
    return rows * LINE_HEIGHT + 2 * MARGIN


if __name__ == "__main__":
    main()
