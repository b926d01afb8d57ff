"""Triggers through `podium serve`: what happens outside starts exactly one run, and nothing else starts any."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import random
import signal
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from podium.ports.store import TriggerEvent
from tests.e2e.kit import Project, closing, new_project, until, until_exit
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

SECRET = "a-secret-for-hooks"
HEAD = """\
podium: 1
name: triggered
inputs: {what: {default: nothing}}
limits: {usd: 1}
secrets: [HOOK]
triggers:
"""
STEPS = """\
steps:
  say: {set: {said: "${{ inputs.what }}"}}
vars: {said: ""}
outputs: {said: "${{ vars.said }}"}
"""
FILE = '  dropped: {file: "in/*.md", inputs: {what: "${{ event.path }}"}, per_day: {runs: 50}}\n'
HOOK = (
    "  opened: {webhook: {secret: HOOK, events: [issues.opened]}, "
    'inputs: {what: "${{ event.body.issue.title }}"}, per_day: {runs: 50}}\n'
)


def workflow(*triggers: str) -> str:
    return HEAD + "".join(triggers) + STEPS


@contextmanager
def project_with(folder: Path, *triggers: str) -> Iterator[Project]:
    with closing(new_project(folder / "place", {"flow.yaml": workflow(*triggers)}, HOOK=SECRET)) as project:
        yield project


def events(project: Project) -> list[TriggerEvent]:
    with project.store() as store:
        return list(store.trigger_events(since=0))


def said(project: Project) -> Counter[str]:
    """What the runs were started with."""
    with project.store() as store:
        heads = store.heads()
    shown = [project.podium("show", head.run, "--json").data() for head in heads]
    return Counter(run["outputs"]["said"] for run in shown if run["status"] == "passed")


def once(project: Project, *options: str) -> list[dict[str, Any]]:
    done = project.podium("serve", "--once", "--json", *options)
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    for line in lines:
        conforms(line, "serve")
    return lines


def finish(project: Project) -> None:
    """Drive all runs to their end. One that was created a moment ago is left to its creator first."""

    def has_ended() -> bool:
        once(project)
        with project.store() as store:
            return {head.status for head in store.heads()} == {"passed"}

    until(has_ended, "the end of all runs")


def did(lines: list[dict[str, Any]], *words: str) -> list[str]:
    return [line["text"] for line in lines if line["did"] in words]


def drop(project: Project, name: str, text: str) -> None:
    """A file whose writer has finished some time ago."""
    project.put({name: text})
    os.utime(project.root / name, (time.time() - 60,) * 2)


def test_a_file_starts_one_run_for_each_content(tmp_path: Path) -> None:
    with project_with(tmp_path, FILE) as project:
        drop(project, "in/old.md", "there before")
        assert did(once(project), "started") == []

        drop(project, "in/a.md", "first")
        assert len(did(once(project), "started")) == 1
        assert did(once(project), "started") == []

        drop(project, "in/a.md", "second")
        drop(project, "in/b.md", "other")
        assert len(did(once(project), "started")) == 2
        drop(project, "in/a.md", "first")
        assert did(once(project), "started") == []
        assert said(project) == {"in/a.md": 2, "in/b.md": 1}


def test_a_link_out_of_the_project_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "private.md").write_text("private")
    with project_with(tmp_path, FILE) as project:
        once(project)
        (project.root / "in").mkdir()
        (project.root / "in/link.md").symlink_to(tmp_path / "private.md")
        os.mkfifo(project.root / "in/pipe.md")

        assert did(once(project), "started") == []


def test_what_is_not_committed_starts_nothing(tmp_path: Path) -> None:
    with project_with(tmp_path, FILE) as project:
        once(project)
        drop(project, "in/a.md", "waits")
        project.put({"flow.yaml": workflow(FILE).replace("limits: {usd: 1}", "limits: {usd: 100}")})

        lines = once(project)

        assert did(lines, "started") == []
        assert did(lines, "refused") == ["flow.yaml: flow.yaml differs from main"]
        project.put({"other.yaml": workflow(FILE)})
        assert all("other" not in text for text in did(once(project), "started", "refused"))

        project.git("checkout", "-q", "flow.yaml")
        assert len(did(once(project), "started")) == 1


def test_a_run_starts_from_the_default_branch_whatever_is_checked_out(tmp_path: Path) -> None:
    with project_with(tmp_path, FILE) as project:
        once(project)
        tip = project.git("rev-parse", "main")
        project.git("checkout", "-q", "-b", "feature")
        project.commit({"unfinished.txt": "x"}, "unfinished")
        drop(project, "in/a.md", "text")

        [run] = [line["run"] for line in once(project) if line["did"] == "started"]

        with project.store() as store:
            started = json.loads(store.read(run)[0].body)
        assert (started["run"]["base"], started["run"]["branch"]) == (tip, "main")


CRON = (
    '  hourly: {cron: "0 * * * *", catch_up: %s, inputs: {what: "${{ event.time }}"}, per_day: {runs: 50}}\n'
)
HOUR_MS = 3_600_000


def look_back(project: Project, hours: float, trigger: str = "hourly") -> None:
    """As if the service had looked for the last time so many hours ago."""
    mark = int(time.time() * 1000 - hours * HOUR_MS)
    with project.store() as store:
        store.record_events([], {("flow.yaml", trigger): str(mark)})


@pytest.mark.parametrize(("catch_up", "runs"), [("last", 1), ("none", 0), ("all", 5)])
def test_times_that_were_missed_are_caught_up_as_the_file_says(
    tmp_path: Path, catch_up: str, runs: int
) -> None:
    with project_with(tmp_path, CRON % catch_up) as project:
        assert did(once(project), "started") == []
        now = time.gmtime()
        if now.tm_min in {59, 0}:
            until(lambda: time.gmtime().tm_min == 1, "a minute far from the full hour")
        look_back(project, 5)

        assert len(did(once(project), "started")) == runs
        assert did(once(project), "started") == []
        look_back(project, -5)
        assert did(once(project), "started") == [], "the clock was set back"


def test_a_ref_starts_a_run_for_each_commit_and_none_for_its_own_landing(tmp_path: Path) -> None:
    trigger = (
        '  moved: {ref: [main, "refs/tags/v*"], inputs: {what: "${{ event.ref }}"}, per_day: {runs: 50}}\n'
    )
    text = workflow(trigger).replace(
        'say: {set: {said: "${{ inputs.what }}"}}',
        "write: {run: [sh, -c, 'date +%N > made.txt'], touches: [made.txt]}\n"
        '  land: {git: {land: main, message: "made"}}',
    )
    with closing(new_project(tmp_path / "place", {"flow.yaml": text}, HOOK=SECRET)) as project:
        assert did(once(project, "--slots", "1"), "started") == []
        project.commit({"change.txt": "x"}, "by a person")

        lines = once(project)

        assert len(did(lines, "started")) == 1
        assert project.git("log", "-1", "--format=%s", "main") == "made"
        assert did(once(project), "started") == []
        assert [event.reason for event in events(project) if "landed" in event.reason]
        project.git("tag", "v1", "main~1")
        assert len(did(once(project), "started")) == 1


def test_the_budget_of_a_day_holds_events_back_and_says_so(tmp_path: Path) -> None:
    trigger = '  dropped: {file: "in/*.md", per_day: {runs: 2}}\n'
    with project_with(tmp_path, trigger) as project:
        once(project)
        for number in range(4):
            drop(project, f"in/{number}.md", str(number))

        lines = once(project)

        assert len(did(lines, "started")) == 2
        assert all("2 of 2 runs of this day (UTC) have been started" in text for text in did(lines, "held"))
        assert did(once(project), "started") == []
        assert Counter(event.state for event in events(project)) == {"started": 2, "waiting": 2}
        listed = project.podium("serve", "--list").out
        assert listed.count("waits since") == 2


def test_runs_of_a_group_follow_each_other_and_a_condition_skips(tmp_path: Path) -> None:
    trigger = (
        '  dropped: {file: "in/*.md", group: one, skip_if: \'event.path == "in/no.md"\', '
        'inputs: {what: "${{ event.path }}"}, per_day: {runs: 9}}\n'
    )
    with project_with(tmp_path, trigger) as project:
        once(project)
        for name in ("a", "b", "no"):
            drop(project, f"in/{name}.md", name)

        lines = once(project)

        [text] = did(lines, "dropped")
        assert "skip_if is true" in text
        with project.store() as store:
            second, first = store.heads()
        assert project.events(first.run)[-1]["at"] <= second.created
        assert said(project) == {"in/a.md": 1, "in/b.md": 1}


def test_a_command_makes_an_event_of_each_line(tmp_path: Path) -> None:
    trigger = (
        '  polled: {command: {run: [sh, -c, \'cat jobs.txt; echo "{\\"id\\": 7, \\"title\\": \\"x\\"}"\']}, '
        'every: 1h, inputs: {what: "${{ event.id }}"}, per_day: {runs: 9}}\n'
    )
    with project_with(tmp_path, trigger) as project:
        project.commit({"jobs.txt": "one\ntwo\n"}, "jobs")
        assert project.podium("serve", "--poll", "flow.yaml:polled").out.splitlines()[:2] == ["one", "two"]

        assert len(did(once(project), "started")) == 3
        assert did(once(project), "started") == []
        assert said(project) == {"one": 1, "two": 1, "7": 1}


def test_a_command_that_fails_is_reported(tmp_path: Path) -> None:
    trigger = "  polled: {command: [sh, -c, 'exit 3'], every: 1h, per_day: {runs: 9}}\n"
    with project_with(tmp_path, trigger) as project:
        [text] = did(once(project), "refused")
        assert "its command failed" in text


class Hooks:
    """A service that receives webhooks."""

    def __init__(self, project: Project) -> None:
        self.project = project
        before = len(project.talk())
        self.process = project.start("serve", "--listen", "127.0.0.1:0", "--json")
        project.while_running(self.process, lambda: "webhooks at" in project.talk()[before:], "an address")
        line = next(line for line in project.talk()[before:].splitlines() if "webhooks at" in line)
        self.url = json.loads(line)["text"].rpartition("webhooks at ")[2].partition("/hooks/")[0]

    def send(self, body: bytes, headers: dict[str, str], path: str = "/hooks/flow.yaml/opened") -> int:
        request = urllib.request.Request(self.url + path, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert until_exit(self.process) == 0


def github(
    title: str, delivery: str, *, secret: str = SECRET, action: str = "opened"
) -> tuple[bytes, dict[str, str]]:
    body = json.dumps({"action": action, "issue": {"title": title}}).encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return body, {
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={signature}",
        "Content-Type": "application/json",
    }


def standard(body: bytes, name: str, at: int, key: bytes) -> dict[str, str]:
    signed = f"{name}.{at}.".encode() + body
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": name, "webhook-timestamp": str(at), "webhook-signature": f"v1,bad v1,{signature}"}


@pytest.mark.security
def test_a_forged_or_replayed_webhook_starts_nothing(tmp_path: Path) -> None:
    with project_with(tmp_path, HOOK) as project:
        hooks = Hooks(project)
        until(lambda: hooks.send(*github("x", "0", action="closed")) == 200, "the trigger")
        body, headers = github("crash on login", "1")
        assert hooks.send(body, headers) == 202
        replays = [
            hooks.send(body, headers),
            hooks.send(body, {**headers, "X-GitHub-Delivery": "2"}),
        ]
        assert replays == [200, 200]
        forged = [
            hooks.send(*github("forged", "3", secret="wrong")),
            hooks.send(body.replace(b"login", b"other"), {**headers, "X-GitHub-Delivery": "4"}),
            hooks.send(b"{}", {"X-GitHub-Event": "issues", "X-GitHub-Delivery": "5"}),
            hooks.send(b"{}", {**headers, "X-Hub-Signature-256": "sha256="}),
            hooks.send(b"", headers),
        ]
        assert forged == [401] * 5
        assert hooks.send(body, headers, "/hooks/flow.yaml/other") == 404
        assert hooks.send(body, headers, "/hooks/../flow.yaml/opened") == 404
        until(lambda: [event.state for event in events(project)] == ["started"], "one run")
        hooks.stop()
        finish(project)
        assert said(project) == {"crash on login": 1}


def test_a_standard_webhook_is_signed_with_its_id_and_time(tmp_path: Path) -> None:
    key = b"k" * 32
    secret = "whsec_" + base64.b64encode(key).decode()
    trigger = (
        "  opened: {webhook: {secret: HOOK, scheme: standard, events: [issue]}, "
        'inputs: {what: "${{ event.id }}"}, per_day: {runs: 50}}\n'
    )
    with closing(new_project(tmp_path / "place", {"flow.yaml": workflow(trigger)}, HOOK=secret)) as project:
        hooks = Hooks(project)
        body, now = b'{"type": "issue.opened"}', int(time.time())
        until(lambda: hooks.send(b'{"type": "x"}', standard(b'{"type": "x"}', "m0", now, key)) == 200, "it")
        assert hooks.send(body, standard(body, "m1", now, key)) == 202
        assert hooks.send(body, standard(body, "m2", now, key)) == 202
        assert hooks.send(body, standard(body, "m1", now, key)) == 200
        assert hooks.send(body, standard(body, "m3", now - 3600, key)) == 401
        assert hooks.send(body, {**standard(body, "m1", now, key), "webhook-id": "m4"}) == 401
        assert hooks.send(body, standard(body, "m5", now, b"wrong")) == 401
        until(lambda: [event.state for event in events(project)] == ["started"] * 2, "two runs")
        hooks.stop()


def test_a_service_that_is_killed_loses_no_event_and_starts_none_twice(tmp_path: Path) -> None:
    chance = random.Random(7)
    with project_with(tmp_path, FILE, HOOK) as project:
        once(project)
        accepted: set[str] = set()
        dropped: set[str] = set()
        for part in range(5):
            hooks = Hooks(project)
            until(lambda: hooks.send(*github("x", "0", action="closed")) == 200, "the trigger")  # noqa: B023
            for number in range(3):
                name = f"{part}{number}"
                drop(project, f"in/{name}.md", name)
                dropped.add(f"in/{name}.md")
                if hooks.send(*github(f"issue {name}", name)) == 202:
                    accepted.add(f"issue {name}")
            time.sleep(chance.random())
            hooks.process.kill()
            hooks.process.wait()
        finish(project)
        counts = said(project)
        assert counts == Counter([*dropped, *accepted])
        assert len(accepted) == 15


def test_triggers_are_listed_with_their_next_time(tmp_path: Path) -> None:
    with project_with(tmp_path, CRON % "last", FILE, HOOK) as project:
        lines = project.podium("serve", "--list").out.splitlines()
        assert lines[0] == "flow.yaml: hourly  cron 0 * * * * in UTC"
        assert lines[1].startswith("    next: ")
        data = project.podium("serve", "--list", "--json").data()
        assert [each["name"] for each in data["triggers"]] == ["hourly", "dropped", "opened"]
        wrong = project.podium("serve", "--listen", "nowhere")
        assert (wrong.code, "is not an address" in wrong.err) == (2, True)
