"""A small real project whose scripted team works, fails a gate, is reviewed and asks; and the pages on top of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T")
PATIENCE_S: Final = 90.0

WORKFLOW: Final = """\
podium: 1
name: ship
description: Make a change under tests, have it reviewed, ask a person, land it.
inputs:
  task: {type: string, help: What should be different afterwards.}
agents:
  writer: {type: scripted, script: cast.yaml}
  critic: {type: scripted, script: cast.yaml}
  guardian: {type: scripted, script: cast.yaml}
limits: {usd: 5, time: 30m}
gates:
  tests: {run: [python3, -m, unittest, -q]}
steps:
  implement:
    role: implementer
    agent: writer
    prompt: "{{ inputs.task }}\\n{{ feedback }}"
    touches: ["*.py"]
    gates: [tests]
    retry: {attempts: 3}
  review:
    review: [critic, guardian]
    of: implement
    on: {rejected: implement}
  approve:
    human: "Land this change? It takes the discount into account and rounds to cents."
    show: [diff, verdicts]
    on: {rejected: implement}
  land:
    git: {land: "${{ run.branch }}", message: "Take the discount into account"}
"""
CAST: Final = '''\
- match: {step: implement, visit: 1, attempt: 1}
  cost_usd: 0.21
  text: I have changed the total.
  write:
    cart.py: |
      """The total of a shopping cart."""

      from decimal import Decimal


      def total(prices: list[Decimal], discount: int = 0) -> Decimal:
          """What a customer pays; `discount` is in percent."""
          return sum(prices, Decimal(0)) * discount / 100
- match: {step: implement, visit: 1}
  cost_usd: 0.18
  text: The discount is taken off now, and the tests pass.
  write:
    cart.py: |
      """The total of a shopping cart."""

      from decimal import Decimal


      def total(prices: list[Decimal], discount: int = 0) -> Decimal:
          """What a customer pays; `discount` is in percent."""
          whole = sum(prices, Decimal(0))
          return whole * (100 - discount) / 100
- match: {step: implement}
  cost_usd: 0.16
  text: It rounds to cents now.
  write:
    cart.py: |
      """The total of a shopping cart."""

      from decimal import ROUND_HALF_UP, Decimal

      CENT = Decimal("0.01")


      def total(prices: list[Decimal], discount: int = 0) -> Decimal:
          """What a customer pays; `discount` is in percent."""
          whole = sum(prices, Decimal(0))
          return (whole * (100 - discount) / 100).quantize(CENT, ROUND_HALF_UP)
- match: {step: review/critic, visit: 1}
  cost_usd: 0.03
  verdict: {decision: approve, score: 8, findings: [{id: rounding, severity: minor, path: cart.py, issue: "The total is not rounded to cents."}]}
'''
FILES: Final = {
    "cart.py": '"""The total of a shopping cart."""\n\nfrom decimal import Decimal\n\n\n'
    "def total(prices: list[Decimal], discount: int = 0) -> Decimal:\n"
    '    """What a customer pays; `discount` is in percent."""\n    return sum(prices, Decimal(0))\n',
    "test_cart.py": "import unittest\nfrom decimal import Decimal\n\nfrom cart import total\n\n\n"
    "class TotalTest(unittest.TestCase):\n"
    "    def test_a_discount_is_taken_off(self):\n"
    '        self.assertEqual(total([Decimal("10.00")], discount=20), Decimal("8.00"))\n',
    "ship.yaml": WORKFLOW,
    "cast.yaml": CAST,
    ".gitignore": ".podium/\n__pycache__/\n",
}


class Site:
    """A project with its own home, and the real `podium` in it."""

    def __init__(self, folder: Path, files: Mapping[str, str] = FILES) -> None:
        self.root, self.home = folder / "shop", folder / "home"
        self.home.mkdir(parents=True)
        self.put(files)
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Start"]):
            self.git(*command)

    @property
    def env(self) -> dict[str, str]:
        own = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
        people = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.com"))
        }
        return {
            **own,
            **people,
            "HOME": str(self.home),
            "PODIUM_USER": "ada",
            "BROWSER": "true",
            "LC_ALL": "C.UTF-8",
        }

    def put(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")

    def git(self, *args: str) -> str:
        return subprocess.run(
            ["git", *args], cwd=self.root, env=self.env, check=True, capture_output=True, text=True
        ).stdout

    def podium(self, *args: str, ok: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "podium", *args],
            cwd=self.root,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode in ok, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def begin(self, task: str, *, file: str = "ship.yaml") -> str:
        """Start a run and wait until it asks or ends."""
        run = self.podium("run", file, "-i", f"task={task}", "--detach", "--yes").strip()
        wait_for(lambda: self.status(run) not in ("running", "interrupted"), f"run {run} to ask")
        return run

    def data(self, run: str) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.podium("show", run, "--json"))
        return data

    def status(self, run: str) -> str:
        return str(self.data(run)["status"])


class Pages(NamedTuple):
    address: str
    """With the key."""
    process: subprocess.Popen[str]

    @property
    def base(self) -> str:
        return self.address.partition("/#")[0]

    @property
    def key(self) -> str:
        return self.address.partition("#key=")[2]

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])


@contextmanager
def pages_of(site: Site, *options: str) -> Iterator[Pages]:
    """`podium ui` as a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "podium", "ui", "--no-browser", *options],
        cwd=site.root,
        env=site.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Pages(process.stdout.readline().strip(), process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        if process.stdout is not None:
            process.stdout.close()


def wait_for(probe: Callable[[], T], what: str) -> T:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.1)
