"""People are told by the real command: what waits for them, and how runs end, once, also when channels are dead."""

from __future__ import annotations

import json
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.stores.outbox import SqliteOutbox
from tests.e2e.kit import Project, closing, new_project, until, until_exit
from tests.sinks import KEY, HttpSink, dead_port, http_sink, silent_server, verified
from tests.views.kit import conforms

FLOW = """\
podium: 1
name: ship
people: {security: [ann, bob]}
policies:
  risk:
    - {when: "touched('secret/**')", level: human, by: [security]}
    - {level: auto}
steps:
  make:
    run: {script: "mkdir -p secret && echo hi > secret/f.txt"}
    touches: ["secret/**"]
    gates: [{name: ok, human: "Ship it?", level: risk, remind: 2s, escalate: {after: 3s, to: [carol]}}]
"""

pytestmark = pytest.mark.slow


def project_with(folder: Path, channels: str, files: dict[str, str] | None = None) -> Project:
    project = new_project(folder, {"w.yaml": FLOW, **(files or {})}, HOOK=KEY)
    project.put({".podium/config.yaml": f"notify:\n{channels}"})
    return project


def hook(sink: HttpSink, *kinds: str) -> str:
    return f"  hook: {{webhook: '{sink.url}', secret: HOOK, on: [{', '.join(kinds)}]}}\n"


def kinds_of(sink: HttpSink) -> list[str]:
    return [delivery.data()["data"]["kind"] for delivery in sink.deliveries]


def until_kinds(sink: HttpSink, *kinds: str) -> list[dict[str, Any]]:
    until(lambda: set(kinds) <= set(kinds_of(sink)), f"messages {kinds}", within_s=60)
    return [verified(delivery, KEY, time.time())["data"] for delivery in sink.deliveries]


@pytest.mark.req("R191", "R194")
def test_a_question_its_answer_and_the_end_are_messages_with_facts(tmp_path: Path) -> None:
    with http_sink() as sink, closing(project_with(tmp_path, hook(sink, "all"))) as project:
        parked = project.podium("run", "w.yaml", "--sandbox", "limits", "--json")
        assert parked.code == 6, parked.err
        run = parked.data()["run"]
        (question,) = until_kinds(sink, "asked")
        assert project.podium("approve", run, "make#1/ok").code == 0
        until_kinds(sink, "answered", "passed")
        listed = project.podium("notify", "--json")

    assert question["run"] == run
    assert question["title"] == "ship: make#1/ok waits for an approval"
    assert question["rule"] == "policy risk, rule 1 of 2: touched('secret/**')"
    lines = question["text"].splitlines()
    assert lines[:2] == ["Ship it?", "asked by policy risk, rule 1 of 2: touched('secret/**')"]
    assert lines[2].startswith("1 file changed, +1 -0, cost so far $0.00")
    assert lines[3] == "security may answer"
    assert f"podium approve {run} 'make#1/ok'" in lines[5]
    assert len(lines) == 6
    assert kinds_of(sink) == ["asked", "answered", "passed"]
    assert listed.code == 0, listed.err
    data = listed.data()
    conforms(data, "notify")
    assert [each["state"] for each in data["messages"]] == ["sent"] * 3
    assert sink.url not in listed.out
    assert KEY not in listed.out


@pytest.mark.req("R191", "R195")
def test_a_service_reminds_and_escalates_while_nobody_answers(tmp_path: Path) -> None:
    with http_sink() as sink, closing(project_with(tmp_path, hook(sink, "all"))) as project:
        run = project.podium("run", "w.yaml", "--sandbox", "limits", "--json").data()["run"]
        service = project.start("serve", "--no-triggers")
        messages = until_kinds(sink, "asked", "reminded", "escalated")
        service.send_signal(signal.SIGTERM)
        assert until_exit(service) == 0
        assert "Traceback" not in project.talk()

    by_kind = {each["kind"]: each for each in messages}
    assert by_kind["reminded"]["title"] == "ship: make#1/ok still waits for an approval"
    assert by_kind["escalated"]["by"] == ["security", "carol"]
    assert by_kind["escalated"]["run"] == run


@pytest.mark.req("R195")
def test_a_channel_of_one_person_gets_what_this_person_may_answer(tmp_path: Path) -> None:
    with http_sink() as sink, http_sink() as other:
        channels = (
            f"  ann: {{webhook: '{sink.url}', secret: HOOK, for: [ann]}}\n"
            f"  dan: {{webhook: '{other.url}', secret: HOOK, for: [dan]}}\n"
        )
        with closing(project_with(tmp_path, channels)) as project:
            project.podium("run", "w.yaml", "--sandbox", "limits")
            until_kinds(sink, "asked")
            outbox = SqliteOutbox(project.root / ".podium/notifications.db")
            assert [each.outgoing.channel for each in outbox.messages(limit=9)] == ["ann"]
            outbox.close()
    assert other.deliveries == []


@pytest.mark.req("R197")
def test_a_dead_and_a_silent_channel_delay_no_run(tmp_path: Path) -> None:
    """The events of the run are as close together as without channels: nothing waits for a channel."""
    flow = 'podium: 1\nname: quick\nsteps: {a: {run: ["true"]}, b: {run: ["false"]}}\n'
    with silent_server() as silent, http_sink() as sink:
        channels = (
            f"  dead: {{webhook: 'http://127.0.0.1:{dead_port()}/', secret: HOOK, on: [all]}}\n"
            f"  silent: {{webhook: 'http://127.0.0.1:{silent}/', secret: HOOK, on: [all]}}\n"
            + hook(sink, "all")
        )
        with closing(project_with(tmp_path, channels, {"quick.yaml": flow})) as project:
            ended = project.podium("run", "quick.yaml", "--sandbox", "limits", "--json")
            assert ended.code == 1, ended.err
            run = ended.data()["run"]
            # The live channel is not held up by the other two.
            until_kinds(sink, "failed")
            outbox = SqliteOutbox(project.root / ".podium/notifications.db")

            def reasons() -> dict[str, str]:
                return {each.outgoing.channel: each.reason for each in outbox.messages(limit=9)}

            until(lambda: all(reasons()[name] for name in ("dead", "silent")), "the faults of both")
            assert reasons()["dead"] == "the request failed: Connection refused"
            outbox.close()
            events = project.events(run)
            listed = project.podium("notify")
    assert events[-1]["at"] - events[0]["at"] < 20_000
    assert "again in" in listed.out


@pytest.mark.req("R197", "R145")
def test_what_a_killed_driver_did_not_tell_is_told_by_the_service(tmp_path: Path) -> None:
    with http_sink() as sink, closing(project_with(tmp_path, hook(sink, "all"))) as project:
        run = project.podium("run", "w.yaml", "--sandbox", "limits", "--json").data()["run"]
        until_kinds(sink, "asked")
        # As after a kill before anything was stored: the log is complete, the outbox knows the run and no event.
        outbox = SqliteOutbox(project.root / ".podium/notifications.db")
        until(lambda: {each.state for each in outbox.messages(limit=9)} == {"sent"}, "the first message")
        _forget(project.root / ".podium/notifications.db")
        service = project.start("serve", "--no-triggers")
        project.while_running(service, lambda: len(sink.deliveries) >= 2, "the message again")
        outbox.close()
        service.send_signal(signal.SIGTERM)
        until_exit(service)

    assert sink.deliveries[0].id == sink.deliveries[1].id
    assert sink.deliveries[0].data()["data"]["run"] == run


def _forget(path: Path) -> None:
    import apsw

    db = apsw.Connection(str(path))
    db.execute("delete from message")
    db.execute("update seen set seq = 0")
    db.close()


VETO = """\
podium: 1
name: veto
steps:
  make: {run: ["true"]}
  ok: {human: "Objections?", level: notify, veto: 3s}
  after: {run: ["true"]}
"""


@pytest.mark.req("R191", "C28")
def test_a_run_waits_for_a_short_veto_window_instead_of_being_parked(tmp_path: Path) -> None:
    with http_sink() as sink, closing(project_with(tmp_path, hook(sink, "all"), {"v.yaml": VETO})) as project:
        ended = project.podium("run", "v.yaml", "--sandbox", "limits", "--json")
        messages = until_kinds(sink, "vetoable", "passed")

    assert (ended.code, ended.data()["status"]) == (0, "passed")
    assert "unless it is rejected before" in messages[0]["title"]


@pytest.mark.req("R191", "C28")
def test_a_long_veto_window_ends_under_a_service(tmp_path: Path) -> None:
    """It parks, because an hour is not short; here the service finds that it is over."""
    flow = VETO.replace("veto: 3s", "veto: 11m")
    with closing(new_project(tmp_path, {"v.yaml": flow})) as project:
        parked = project.podium("run", "v.yaml", "--sandbox", "limits", "--json")
        assert parked.code == 6, parked.err
        run = parked.data()["run"]
        assert project.podium("reject", run, "ok", "--feedback", "no").code == 4
        assert project.podium("show", run, "--json").data()["status"] == "rejected"
        project.commit({"s.yaml": VETO.replace("veto: 3s", "veto: 6s")}, "short")
        child = project.start("run", "s.yaml", "--sandbox", "limits", "--json")
        project.while_running(child, lambda: _count_runs(project) == 2, "the second run")
        with project.store() as store:
            second = store.heads()[0].run
        project.until_event(second, "ApprovalAsked")
        child.kill()
        child.wait()
        service = project.start("serve", "--no-triggers")
        project.until_event(second, "RunEnded")
        service.send_signal(signal.SIGTERM)
        until_exit(service)
        assert json.loads(project.podium("show", second, "--json").out)["status"] == "passed"


def _count_runs(project: Project) -> int:
    with project.store() as store:
        return len(store.heads())


def test_a_test_message_says_whether_a_channel_works(tmp_path: Path) -> None:
    with http_sink() as sink:
        channels = (
            hook(sink, "all") + f"  dead: {{webhook: 'http://127.0.0.1:{dead_port()}/key', secret: HOOK}}\n"
        )
        with closing(project_with(tmp_path, channels)) as project:
            good = project.podium("notify", "--test", "hook")
            bad = project.podium("notify", "--test", "dead")
            unknown = project.podium("notify", "--test", "hok")
            checked = project.podium("doctor", "--json")

    assert (good.code, good.out) == (0, "hook: sent\n")
    assert (bad.code, "key" in bad.err) == (1, False)
    assert "dead: the request failed: Connection refused" in bad.err
    assert unknown.code == 2
    assert 'did you mean "hook"?' in unknown.err
    assert [each["name"] for each in checked.data()["channels"]] == ["hook", "dead"]


@pytest.mark.req("R197")
def test_a_link_leads_to_the_question_and_opening_it_decides_nothing(tmp_path: Path) -> None:
    with http_sink() as sink, closing(project_with(tmp_path, hook(sink, "all"))) as project:
        pages = project.start("ui", "--no-browser")
        entry = until(
            lambda: next((project.home / ".local/state/podium/web").glob("*.json"), None), "the server"
        )
        address = json.loads(entry.read_text())["address"]
        base, key = address.partition("/#key=")[0], address.partition("#key=")[2]
        run = project.podium("run", "w.yaml", "--sandbox", "limits", "--json").data()["run"]
        (question,) = until_kinds(sink, "asked")
        link = question["link"]
        assert link == f"{base}/runs/{run}/decide/make%231/ok"
        assert link in question["text"].splitlines()
        assert key not in json.dumps(question)
        assert _opened(link, {}) == 401
        assert _opened(link, {"Authorization": f"Bearer {key}"}) == 200
        assert _opened(f"{link}?action=approve", {"Authorization": f"Bearer {key}"}) == 200
        assert project.podium("show", run, "--json").data()["status"] == "parked"

        pages.send_signal(signal.SIGTERM)
        assert until_exit(pages) == 0
        assert project.podium("approve", run, "make#1/ok").code == 0
        until_kinds(sink, "passed")
    ended = [each.data()["data"] for each in sink.deliveries if each.data()["data"]["kind"] == "passed"]
    assert "link" not in ended[0]
    assert f"podium show {run}" in ended[0]["text"]


def _opened(link: str, headers: dict[str, str]) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(link, headers=headers), timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
