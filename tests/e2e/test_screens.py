"""The live view as a person sees it, at several widths, with and without colour and Unicode.

The expected screens are in screens/; PODIUM_WRITE_SCREENS=1 writes them again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project, until
from tests.e2e.tmux import in_tmux

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

SCREENS = Path(__file__).parent / "screens"
AGENT = """\
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
attempt = len(list(folder.glob("began*"))) + 1
(folder / f"began{attempt}").touch()
print("I read the report and look for the cause.", flush=True)
print("Now I change the discount.", flush=True)
while not (folder / f"go{attempt}").exists():
    time.sleep(0.02)
pathlib.Path("cart.py").write_text(f"# attempt {attempt}\\n")
"""


def project_in(folder: Path) -> Project:
    """A step that has failed once, a loop in the middle, and steps that are still to come."""

    argv = json.dumps([sys.executable, "agent.py", str(folder)])
    flow = f"""\
podium: 1
name: fix_cart
limits: {{usd: 3, unknown_cost: count_tokens}}
agents:
  worker: {{type: command, command: {argv}}}
steps:
  plan: {{run: [echo, planned]}}
  files:
    for_each: [cart.py, order.py, a_file_with_a_very_long_name_that_does_not_fit.py]
    steps:
      check: {{run: [echo, "${{{{ item }}}}"]}}
  implement:
    agent: worker
    prompt: Repair it.
    touches: [cart.py]
    retry: {{attempts: 2, backoff: 0s}}
    gates: [{{run: [grep, attempt 2, cart.py], name: tests}}]
  review: {{run: [echo, fine]}}
  land: {{run: [echo, landed]}}
"""
    files = {"flow.yaml": flow, "agent.py": AGENT, "cart.py": "# empty\n"}
    return new_project(folder / "place", files)


def settled(screen: str) -> str:
    """Without what differs from run to run: times, the spinner and the lines before the start."""
    screen = re.sub(r"(?ms)\A.*?(?=^[✗x] \d\d:)", "", screen)
    screen = re.sub(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|(?m:^[|/\\-](?= ))", "*", screen)
    screen = re.sub(r"\d\d:\d\d:\d\d", "HH:MM:SS", screen)
    # A time keeps its width, or the columns would move.
    return re.sub(r" +\d+(?:\.\d)?s\b", lambda match: "T".rjust(len(match[0])), screen)


CASES = {
    "60": (60, {}),
    "80": (80, {}),
    "140": (140, {}),
    "80-plain": (80, {"NO_COLOR": "1"}),
    "80-ascii": (80, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "80-ascii with LANG=C alone": (80, {"LANG": "C"}),
    "60-ascii-plain": (60, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "NO_COLOR": "1"}),
}


@pytest.mark.req("R213")
@pytest.mark.parametrize("case", CASES)
def test_the_live_view_looks_as_it_should(case: str, tmp_path: Path) -> None:
    columns, env = CASES[case]
    with closing(project_in(tmp_path)) as project:
        args = ("run", "flow.yaml", "--sandbox", "limits")
        with in_tmux(project, *args, columns=columns, env=env) as tmux:
            tmux.wait_for('says "Now')
            (tmp_path / "go1").touch()
            screen = tmux.wait_for('attempt 2  says "Now')
            coloured = tmux.screen(colours=True)
            (tmp_path / "go2").touch()
            tmux.wait_for("passed")

    assert all(len(line) <= columns for line in screen.splitlines())
    assert ("\x1b[" in coloured) == ("NO_COLOR" not in env)
    compare(SCREENS / f"{case.partition(' ')[0]}.txt", settled(screen))


def compare(file: Path, screen: str) -> None:
    if os.environ.get("PODIUM_WRITE_SCREENS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(screen)
    assert screen == file.read_text()


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(tmp_path: Path) -> None:
    with closing(project_in(tmp_path)) as project:
        (tmp_path / "go1").touch()
        (tmp_path / "go2").touch()
        args = ("run", "flow.yaml", "--sandbox", "limits")
        with in_tmux(project, *args, columns=100, rows=50, env={"TERM": "dumb"}) as tmux:
            until(lambda: "land: passed" in tmux.screen(), "the end")
            screen = tmux.screen()

    assert "\nplan: started" in re.sub(r"\d\d:\d\d:\d\d  ", "", screen)
