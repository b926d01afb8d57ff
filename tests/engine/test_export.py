"""A run as a folder that a stranger can check: whole, without the project, and whatever is changed in it shows (X14)."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from podium.app.archive.check_export import check_export
from podium.app.archive.export import Exported, as_json, export, file_names, hash_of
from podium.core.messages import Approve
from podium.core.types import Address
from podium.errors import ConfigurationError
from podium.frontends.cli.main import podium
from tests.engine.kit import TEAM, Project, git
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

STEPS = """\
  make:
    agent: w
    prompt: prompts/make.md
    touches: [made.txt]
    gates: [{name: right, run: [grep, -n, right, made.txt]}]
  judge:
    review: judging
    of: make
  ask:
    human: "Land it?"
"""
CAST = """\
- match: {step: make, attempt: 1}
  write: {made.txt: "wrong\\n"}
- match: {step: make}
  write: {made.txt: "right\\n"}
- match: {step: judge}
  answer: {decision: approve, findings: []}
"""


@pytest.fixture
def exported(project: Project, tmp_path: Path) -> Exported:
    project.write("prompts/make.md", "Write it. {{ feedback }}\n")
    run, _ = project.run(
        project.flow(STEPS, head=TEAM + "roles:\n  judging: {extends: reviewer, agent: w}\n", cast=CAST)
    )
    heard = project.say(run, Approve(Address("ask"), "approve", "ann"))
    assert heard.state is not None
    assert heard.state.ended is not None
    assert heard.state.ended.status == "passed", heard.state.ended
    # Whatever is edited later: the run was started with what it was started with.
    project.write("prompts/make.md", "Something else.\n")
    return export(project.facade, project.facade.run(), tmp_path / "out")


@pytest.mark.req("X14", "R160")
def test_a_stranger_finds_everything_and_nothing_is_wrong_with_it(
    exported: Exported, project: Project, tmp_path: Path
) -> None:
    shutil.rmtree(project.root / ".git")
    checked = check_export(exported.folder)

    assert (checked.fault, checked.notes, exported.lost) == (None, (), ())
    assert checked.trees >= 3
    assert checked.manifest == exported.manifest
    verdicts = json.loads((exported.folder / "verdicts.json").read_text("utf-8"))
    assert [(row["step"].split("/")[0], row["by"]) for row in verdicts if row["by"] != "gate"] == [
        ("judge", "reviewer"),
        ("ask", "ann"),
    ]
    assert [row["outcome"] for row in verdicts if row["by"] == "gate"] == ["failed", "passed"]
    assert (
        (exported.folder / "definition/files/project/prompts/make.md")
        .read_text("utf-8")
        .startswith("Write it.")
    )
    assert list((exported.folder / "records/agent_logs/make/2").glob("prompt*"))
    assert list((exported.folder / "records/evidence").rglob("stdout.txt"))
    # Git alone shows what was judged.
    git(tmp_path, "clone", "--quiet", "--mirror", str(exported.folder / "trees.bundle"), "trees.git")
    shown = git(tmp_path / "trees.git", "show", f"refs/podium/trees/{verdicts[-1]['tree']}:made.txt")
    assert shown == "right"
    assert "+right" in (exported.folder / "change.diff").read_text("utf-8")


@pytest.mark.req("X14")
def test_every_file_that_is_altered_added_or_gone_is_named(exported: Exported) -> None:
    chance = random.Random(1)
    for name in file_names(exported.folder):
        path = exported.folder / name
        before = path.read_bytes()
        if name == "manifest.json":
            continue
        bit = chance.randrange(max(1, len(before)) * 8)
        changed = bytearray(before or b"x")
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        assert check_export(exported.folder).fault == f"{name} has been altered"
        path.unlink()
        assert check_export(exported.folder).fault == f"{name} is missing"
        path.write_bytes(before)
    (exported.folder / "more.txt").write_text("x", "utf-8")
    assert check_export(exported.folder).fault == "more.txt is not in manifest.json"
    (exported.folder / "more.txt").unlink()
    assert check_export(exported.folder).fault is None


Forgery = Callable[[Path], None]


def forge_event(folder: Path) -> None:
    path = folder / "events.jsonl"
    path.write_text(path.read_text("utf-8").replace("ann", "eve"), "utf-8")


def forge_verdict(folder: Path) -> None:
    path = folder / "verdicts.json"
    rows = json.loads(path.read_text("utf-8"))
    rows[0]["outcome"] = "passed"
    path.write_bytes(as_json(rows))


def forge_definition(folder: Path) -> None:
    path = folder / "definition/definition.json"
    path.write_text(path.read_text("utf-8").replace("right", "wrong"), "utf-8")


def forge_trees(folder: Path) -> None:
    (folder / "trees.bundle").write_bytes(b"# v2 git bundle\n\n")


def cut_events(folder: Path) -> None:
    path = folder / "events.jsonl"
    path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")


@pytest.mark.req("X14")
@pytest.mark.parametrize(
    ("forge", "fault"),
    [
        (forge_event, "has been altered"),
        (forge_verdict, "verdicts.json does not say what the events say"),
        (forge_definition, "is not the definition"),
        (forge_trees, "is not in trees.bundle"),
        (cut_events, "does not end where"),
    ],
)
def test_a_forger_who_also_mends_the_hashes_of_files_is_found_out(
    forge: Forgery, fault: str, exported: Exported
) -> None:
    forge(exported.folder)
    mend(exported.folder)

    found = check_export(exported.folder).fault

    assert found is not None
    assert fault in found


def mend(folder: Path) -> None:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"] = {
        name: hash_of(folder / name) for name in file_names(folder) if name != "manifest.json"
    }
    (folder / "manifest.json").write_bytes(as_json(manifest))


def test_a_manifest_that_is_none_is_a_fault_and_no_crash(exported: Exported) -> None:
    path = exported.folder / "manifest.json"
    whole = path.read_bytes()
    for data in (
        b"",
        b"[]",
        b"{}",
        b'{"podium_export": 9}',
        whole[:-40],
        whole.replace(b'"events": ', b'"events": 1'),
    ):
        path.write_bytes(data)
        checked = check_export(exported.folder)
        assert checked.fault
        assert checked.manifest == hashlib.sha256(data).hexdigest()


def test_a_folder_with_something_in_it_and_a_damaged_run_are_refused(
    exported: Exported, project: Project, tmp_path: Path
) -> None:
    head = project.facade.run()
    with pytest.raises(ConfigurationError, match="not empty"):
        export(project.facade, head, exported.folder)
    (project.facade.paths.run_dir(head.run) / "chain_head").write_text(f"{99:>12} {'0' * 64}\n", "ascii")
    with pytest.raises(ConfigurationError, match="its log fails verification"):
        export(project.facade, head, tmp_path / "other")


def test_a_place_that_cannot_hold_an_export_is_named(
    exported: Exported, project: Project, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x", "utf-8")

    for place, fact in ((tmp_path / "file", "is not a folder"), (tmp_path / "file" / "x", "Not a directory")):
        with pytest.raises(ConfigurationError, match=fact):
            export(project.facade, project.facade.run(), place)
    with pytest.raises(ConfigurationError, match="cannot be made"):
        export(project.facade, project.facade.run(), Path("/proc/xx"))


@pytest.mark.req("X14")
def test_a_folder_without_its_manifest_is_at_fault_and_no_run(
    exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    (exported.folder / "manifest.json").unlink()
    monkeypatch.chdir(exported.folder.parent)

    found = CliRunner().invoke(podium, ["verify", exported.folder.name], standalone_mode=False)
    told = CliRunner().invoke(podium, ["verify", exported.folder.name, "--json"], standalone_mode=False)

    assert (found.return_value, found.stdout) == (1, f"{exported.folder.name}: manifest.json is missing\n")
    assert told.return_value == 1
    conforms(json.loads(told.stdout), "verify")
