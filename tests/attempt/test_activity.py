"""The live files of an attempt: complete, masked, without control sequences, and there while it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podium.attempt.activity import AGENT_FILES, ActivityLog, CommandActivity
from podium.core.events import AttemptStarted
from podium.core.ledger import NOTHING
from podium.core.types import Address, Millis
from podium.ports.agent import Progress
from podium.redaction.mask import Mask
from tests.attempt.runs import bench
from tests.git.kit import Project

SECRET = "s3cret-value-of-a-key"
FLOW = "podium: 1\nname: x\nsteps:\n  it: {run: [echo, hi]}\n"


def started(attempt: int = 1) -> AttemptStarted:
    return AttemptStarted(Millis(1), Address("it"), attempt, NOTHING)


def log_of(host: Any) -> ActivityLog:
    return ActivityLog(host, started(), AGENT_FILES)


def test_output_is_in_the_file_before_the_attempt_ends(project: Project, tmp_path: Path) -> None:
    host = bench(project, tmp_path, FLOW).host
    with log_of(host) as log:
        log.output("stdout", b"one\n")
        log.output("stderr", b"two")

        folder = host.log_dir("it", 1)
        assert (folder / "stdout.log").read_bytes() == b"one\n"
        assert (folder / "stderr.log").read_bytes() == b"two"
        assert (folder / "stdout.log").stat().st_mode & 0o077 == 0


@given(
    cuts=st.lists(st.integers(min_value=1, max_value=60), max_size=6),
    kind=st.sampled_from(["output", "text"]),
)
def test_no_split_of_the_pieces_shows_a_secret(tmp_path_factory: Any, cuts: list[int], kind: str) -> None:
    folder = tmp_path_factory.mktemp("split")
    host = bench(folder, folder, FLOW, mask=Mask({"KEY": SECRET})).host
    text = (
        f"before {SECRET[:9]}\x1b[31m{SECRET[9:]} {SECRET} after"
        if kind == "output"
        else f"a {SECRET} b {SECRET} c"
    )
    pieces = [text[a:b] for a, b in zip([0, *sorted(cuts)], [*sorted(cuts), len(text)], strict=True)]
    with log_of(host) as log:
        for piece in pieces:
            if kind == "output":
                log.output("stdout", piece.encode())
            else:
                log.report([Progress("text", piece)])

    content = b"".join(path.read_bytes() for path in host.log_dir("it", 1).iterdir()).decode()
    assert SECRET not in content.replace('"}\n', "").replace('"text": "', "")
    assert "***" in content
    assert "\x1b" not in content


def test_control_characters_do_not_reach_the_files(project: Project, tmp_path: Path) -> None:
    host = bench(project, tmp_path, FLOW).host
    with log_of(host) as log:
        log.output("stdout", b"a\x1b]0;title\x07b\x08\x00c\td\r\n")

    assert (host.log_dir("it", 1) / "stdout.log").read_bytes() == b"abc\td\r\n"


def test_activity_is_one_record_per_report_with_its_time_and_its_numbers(
    project: Project, tmp_path: Path
) -> None:
    host = bench(project, tmp_path, FLOW, now=lambda: Millis(77)).host
    with log_of(host) as log:
        log.report([Progress("text", "I "), Progress("text", "look"), Progress("run", "ls")])
        log.report([Progress("retry", "529", Millis(99)), Progress("usage", "", tokens=5)])

    lines = (host.log_dir("it", 1) / "progress.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"at": 77, "kind": "text", "text": "I "},
        {"at": 77, "kind": "text", "text": "look"},
        {"at": 77, "kind": "run", "text": "ls"},
        {"at": 77, "kind": "retry", "text": "529", "until": 99},
        {"at": 77, "kind": "usage", "text": "", "tokens": 5},
    ]


def test_a_repeated_attempt_keeps_the_words_of_the_killed_one(project: Project, tmp_path: Path) -> None:
    host = bench(project, tmp_path, FLOW).host
    killed = log_of(host)
    killed.output("stdout", b"half a wo")
    with log_of(host) as log:
        log.output("stdout", b"again\n")
        log.output("stdout", b"and on\n")
    killed.close()

    content = (host.log_dir("it", 1) / "stdout.log").read_text()
    assert content == "half a wo[podium] the attempt was interrupted and starts again\nagain\nand on\n"


def test_the_list_of_activities_exists_before_the_first_of_them(project: Project, tmp_path: Path) -> None:
    """Otherwise `logs -f` would show the raw records that come before it."""
    host = bench(project, tmp_path, FLOW).host
    with log_of(host) as log:
        log.announce()
        log.output("stdout", b'{"type": "system"}\n')

        assert (host.log_dir("it", 1) / "progress.jsonl").read_bytes() == b""


def test_what_the_workflow_does_not_record_is_not_written_but_still_reported(
    project: Project, tmp_path: Path
) -> None:
    reports: list[Progress] = []
    host = bench(project, tmp_path, FLOW, on_progress=lambda _, progress: reports.append(progress)).host
    with ActivityLog(host, started(), AGENT_FILES, keeps_output=False, keeps_progress=False) as log:
        log.output("stdout", b"secret plans")
        log.report([Progress("text", "secret plans")])

    assert not host.log_dir("it", 1).exists()
    assert reports == [Progress("text", "secret plans")]


def test_both_streams_of_a_command_are_one_text_with_notes_of_podium(
    project: Project, tmp_path: Path
) -> None:
    host = bench(project, tmp_path, FLOW).host
    with CommandActivity(host, started()) as activity:
        activity.output("stdout", b"one\n")
        activity.output("stderr", b"two\n")
        activity.note("also running on the base tree")

    content = (host.log_dir("it", 1) / "output.log").read_text()
    assert content == "one\ntwo\n[podium] also running on the base tree\n"


def test_an_endless_list_of_activities_is_bounded(project: Project, tmp_path: Path) -> None:
    host = bench(project, tmp_path, FLOW).host
    with log_of(host) as log:
        for _ in range(40):
            log.report([Progress("note", "x" * 1024 * 1024)])

    assert (host.log_dir("it", 1) / "progress.jsonl").stat().st_size <= 16 * 1024 * 1024
