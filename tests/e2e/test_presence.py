"""A step with `presence: true` passes only with a passkey of the person who answers; no program can click for a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from podium.adapters.presence.ceremonies import answer_options, enrol, enrolment_options, proof_of
from podium.adapters.presence.passkeys import PasskeyFile, decoded
from podium.core.events import ApprovalAsked, ApprovalGiven
from podium.core.hash_chain import RunId
from podium.core.messages import Approve
from podium.errors import ConfigurationError
from podium.ports.presence import challenge_of
from podium.runtime.commands import encode_command
from podium.runtime.records import event_of
from tests.authenticator import PRESENT, Authenticator
from tests.e2e.kit import Project, closing, new_project

pytest.importorskip("webauthn")
pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: release
steps:
  ok: {human: "Release?", by: [ann, bob], presence: true}
"""


def enrolled(project: Project, person: str, device: Authenticator) -> PasskeyFile:
    file = PasskeyFile(project.home / ".config/podium")
    challenge, options = enrolment_options(file, person)
    enrol(file, person, challenge=challenge, response=device.create(options))
    return file


def parked(project: Project) -> tuple[RunId, ApprovalAsked]:
    done = project.podium("run", "w.yaml", "--sandbox", "limits", "--json")
    assert done.code == 6, done.err
    run = RunId(done.data()["run"])
    request = next(
        event for record in project.records(run) if isinstance(event := event_of(record), ApprovalAsked)
    )
    assert request.presence
    return run, request


def signed(
    file: PasskeyFile, run: RunId, request: ApprovalAsked, device: Authenticator, by: str = "ann"
) -> Approve:
    answer = Approve(request.path, "approve", by, "fine", None, request.tree)
    options = answer_options(file, by, challenge_of(run, request, answer))
    return replace(answer, proof=proof_of(device.get(options)))


def posted(project: Project, run: RunId, answer: Approve) -> str:
    """What the run answers to a command that any program could have stored."""
    with project.store() as store:
        store.post(run, "key", encode_command(answer))
    project.podium("resume", run, "--until-idle")
    with project.store() as store:
        return str(store.reply(run, "key"))


@pytest.mark.req("R195")
def test_the_terminal_a_file_and_a_program_are_refused_and_a_no_is_not(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {"w.yaml": FLOW})) as project:
        run, request = parked(project)
        approved = project.podium("approve", run, "ok")
        assert approved.code == 2
        assert "needs the proof that ann is present" in approved.err
        assert "podium ui opens the question there" in approved.err
        assert "podium approve" not in project.podium("inbox").out
        assert "needs the proof" in posted(project, run, Approve(request.path, "approve", "ann"))
        file = next((project.root / ".podium/inbox").glob("*"))
        file.write_text(file.read_text().replace("answer:", "answer: approve", 1).replace("by:", "by: ann"))
        project.podium("resume", run, "--until-idle")
        assert project.podium("show", run, "--json").data()["status"] == "parked"

        assert project.podium("reject", run, "ok", "--feedback", "no").code == 4


@pytest.mark.req("R195")
def test_a_passkey_approves_and_the_log_keeps_the_proof(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {"w.yaml": FLOW})) as project:
        device = Authenticator()
        file = enrolled(project, "ann", device)
        run, request = parked(project)

        assert posted(project, run, signed(file, run, request, device)) == "done"

        given = next(
            event for record in project.records(run) if isinstance(event := event_of(record), ApprovalGiven)
        )
        assert given.proof is not None
        assert set(given.proof) == {"credential", "client_data", "authenticator_data", "signature"}
        assert project.podium("show", run, "--json").data()["status"] == "passed"
        assert project.podium("verify", run).code == 0


@pytest.mark.req("R195")
def test_a_proof_of_anything_else_is_refused(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {"w.yaml": FLOW})) as project:
        ann, bob = Authenticator(), Authenticator()
        file = enrolled(project, "ann", ann)
        enrolled(project, "bob", bob)
        run, request = parked(project)
        answer = signed(file, run, request, ann)
        foreign = replace(ann, origin="https://example.com")
        absent = replace(ann, flags=PRESENT)
        other_run = signed(file, RunId("other"), request, ann)
        wrong = {
            "other words": (replace(answer, text="changed"), "challenge"),
            "another run": (other_run, "challenge"),
            "another person": (replace(answer, by="bob"), "belongs to ann, not to bob"),
            "an unknown key": (
                replace(answer, proof={**(answer.proof or {}), "credential": "AAAA"}),
                "not known here",
            ),
            "another page": (signed(file, run, request, foreign), "not made on this machine"),
            "nobody verified": (signed(file, run, request, absent), "User verification"),
            "nothing": (replace(answer, proof={}), "not known here"),
        }
        from podium.adapters.presence.passkeys import PasskeyCheck

        check = PasskeyCheck(file)
        for name, (each, reason) in wrong.items():
            assert reason in check.fault(challenge_of(run, request, each), each), name
        assert "challenge" in posted(project, run, replace(answer, text="changed"))
        assert project.podium("show", run, "--json").data()["status"] == "parked"


def test_an_enrolment_that_was_not_asked_for_is_refused(tmp_path: Path) -> None:
    file = PasskeyFile(tmp_path)
    challenge, options = enrolment_options(file, "ann")
    for device, shown in ((Authenticator(), bytes(32)), (Authenticator("https://example.com"), challenge)):
        with pytest.raises(ConfigurationError, match="the passkey was not added"):
            enrol(file, "ann", challenge=shown, response=device.create(options))
    with pytest.raises(ConfigurationError, match="ann has no passkey"):
        answer_options(file, "ann", bytes(32))
    device = Authenticator()
    made = enrol(file, "ann", challenge=challenge, response=device.create(options), name="key")
    assert (decoded(made.credential), file.read()[0].person) == (device.id, "ann")
    file.remove(made.credential)
    assert file.read() == ()


GATED = """\
podium: 1
name: gated
steps:
  make:
    run: {script: "echo hi > f.txt"}
    touches: [f.txt]
    gates: [{name: ok, human: "Good?"}]
"""


@pytest.mark.parametrize("looks", [True, False])
def test_an_approval_without_a_look_at_the_change_is_visible(tmp_path: Path, looks: bool) -> None:
    with closing(new_project(tmp_path, {"w.yaml": GATED})) as project:
        run = project.podium("run", "w.yaml", "--sandbox", "limits", "--json").data()["run"]
        if looks:
            assert "+hi" in project.podium("diff", run, "make#1/ok").out
        assert project.podium("approve", run, "make#1/ok").code == 0
        audit = (project.root / ".podium/runs" / run / "audit.log").read_text()
        (event,) = [each for each in project.events(run) if each["type"] == "ApprovalGiven"]
        (question,) = [each for each in project.events(run) if each["type"] == "ApprovalAsked"]

    line = next(line for line in audit.splitlines() if "answer " in line)
    # A busy machine may need more than 10 s between the question and the answer.
    is_quick = event["at"] - question["at"] < 10_000
    assert event.get("opened", []) == (["diff"] if looks else [])
    assert ("within 10 s and without opening the change" in line) == (is_quick and not looks)
