"""Many events of files, webhooks and a clock, while the service is killed and its clock is put forward and back.

The rule: a file starts one run for each content, an accepted webhook one, and each planned minute one (`catch_up: all`).
PODIUM_TRIGGER_EVENTS=1000 for the whole count, which `make triggers` plays.
"""

from __future__ import annotations

import os
import random
import time
import urllib.error
from collections import Counter
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.ports.store import TriggerEvent
from tests.e2e.kit import Project, closing, new_project, until
from tests.e2e.test_triggers import SECRET, Hooks, drop, events, github, workflow

pytestmark = pytest.mark.slow

EVENTS = int(os.environ.get("PODIUM_TRIGGER_EVENTS", "60"))
SEED = int(os.environ.get("PODIUM_SEED", "7"))
PART = max(10, EVENTS // 40)
"""Events that are sent before the service is killed."""
PATIENCE_S = 20 + EVENTS
MANY = "per_day: {runs: 100000}"
TRIGGERS = (
    f'  dropped: {{file: "in/*.md", inputs: {{what: "${{{{ event.path }}}}"}}, {MANY}}}\n',
    (
        "  opened: {webhook: {secret: HOOK, events: [issues.opened]}, "
        f'inputs: {{what: "${{{{ event.body.issue.title }}}}"}}, {MANY}}}\n'
    ),
    f'  minutes: {{cron: "* * * * *", catch_up: all, inputs: {{what: "${{{{ event.id }}}}"}}, {MANY}}}\n',
)
CLOCK = """\
import os, time
_file, _time, _time_ns = os.environ["SHIFTED_CLOCK"], time.time, time.time_ns
def _shift():
    with open(_file) as file:
        return int(file.read() or 0)
time.time = lambda: _time() + _shift()
time.time_ns = lambda: _time_ns() + _shift() * 10**9
"""


class ShiftedClock:
    """The clock of the service, in seconds beside that of the machine."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder, self._file = folder, folder / "shift"
        (folder / "sitecustomize.py").write_text(CLOCK, "utf-8")
        self.shift = 0
        self.put(0)

    def put(self, seconds: int) -> None:
        """Moves the clock. The file is replaced, because the service may read it at any time."""
        self.shift += seconds
        new = self._file.with_suffix(".new")
        new.write_text(str(self.shift), "utf-8")
        new.replace(self._file)


def what(project: Project, event: TriggerEvent) -> str:
    assert event.run is not None
    return str(project.events(event.run)[0]["inputs"]["what"])


def send(hooks: Hooks, name: str) -> bool:
    """Whether the service has accepted it. A sender that gets no answer sends it again, as GitHub's users do."""
    with suppress(urllib.error.URLError, OSError):
        return hooks.send(*github(name, name)) in (200, 202)
    return False


@pytest.mark.timeout(120 + 6 * EVENTS)
def test_no_event_is_lost_or_starts_two_runs(tmp_path: Path) -> None:
    chance, clock = random.Random(SEED), ShiftedClock(tmp_path / "clock")
    env: dict[str, Any] = {
        "HOOK": SECRET,
        "PYTHONPATH": os.pathsep.join((str(clock.folder), str(Path(podium.__file__).parents[1]))),
        "SHIFTED_CLOCK": str(clock.folder / "shift"),
    }
    with closing(new_project(tmp_path / "place", {"flow.yaml": workflow(*TRIGGERS)}, **env)) as project:
        assert project.podium("serve", "--once").code == 0
        files, hooked, unsent, kills, jumps = set[str](), set[str](), set[str](), 0, 0
        while len(files) + len(hooked) + minutes(project) < EVENTS:
            hooks = Hooks(project)
            for _ in range(PART):
                name = f"{len(files) + len(hooked) + len(unsent):04}"
                if chance.random() < 0.5:
                    drop(project, f"in/{name}.md", name)
                    files.add(f"in/{name}.md")
                else:
                    unsent.add(f"issue {name}")
                accepted = {each for each in unsent if send(hooks, each)}
                hooked, unsent = hooked | accepted, unsent - accepted
                if chance.random() < 0.2:
                    clock.put(chance.choice((-600, -90, 60, 180, 400)))
                    jumps += 1
            time.sleep(2 * chance.random())
            hooks.process.kill()
            hooks.process.wait()
            kills += 1
        clock.put(max(0, -clock.shift) + 120)
        hooks = Hooks(project)
        until(
            lambda: all(send(hooks, each) for each in tuple(unsent)), "the last webhooks", within_s=PATIENCE_S
        )
        hooked |= unsent

        def is_done() -> bool:
            rows = events(project)
            seen = {event.trigger for event in rows if event.state != "started"}
            with project.store() as store:
                ended = all(head.status == "passed" for head in store.heads())
            return ended and not seen and {e.trigger for e in rows} == {"dropped", "opened", "minutes"}

        until(lambda: is_done() and count(project, "dropped") == len(files), "all runs", within_s=PATIENCE_S)
        hooks.stop()
        rows = events(project)
        with project.store() as store:
            runs = [head.run for head in store.heads()]
        started = Counter(event.run for event in rows)
        assert set(started) == set(runs) and set(started.values()) == {1}
        assert Counter(what(project, e) for e in rows if e.trigger == "dropped") == Counter(files)
        assert Counter(what(project, e) for e in rows if e.trigger == "opened") == Counter(hooked)
        planned = sorted(datetime.fromisoformat(e.id) for e in rows if e.trigger == "minutes")
        steps = Counter((after - before).total_seconds() for before, after in pairwise(planned))
        assert set(steps) <= {60.0}, "each minute once, and none left out"
        kinds = Counter(event.trigger for event in rows)
        print(  # noqa: T201 (the count is the result)
            f"{len(rows)} events ({dict(kinds)}), {kills} kills, {jumps} jumps of the clock, seed {SEED}"
        )


def minutes(project: Project) -> int:
    return count(project, "minutes")


def count(project: Project, trigger: str) -> int:
    return sum(event.trigger == trigger for event in events(project))
