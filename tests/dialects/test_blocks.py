"""Every YAML block of the documents that described this system has a fate, and meets it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import check, converted, resolved
from podium.core.messages import Approve
from podium.views.run.view import RunView
from podium.workflow.source.yaml import load
from tests.dialects.blocks import COUNT, blocks
from tests.dialects.fates import gates as gates_fates
from tests.dialects.fates import states as states_fates
from tests.dialects.fates import steps as steps_fates
from tests.dialects.fates import supervisor as supervisor_fates
from tests.dialects.fates import supervisor_files
from tests.dialects.fates.kinds import Contradicts, Fate, Key, Loads, Runs
from tests.dialects.kit import Stage, status

pytestmark = pytest.mark.slow

FATES: tuple[Fate, ...] = (
    *gates_fates.FATES,
    *states_fates.FATES,
    *steps_fates.FATES,
    *supervisor_fates.FATES,
    *supervisor_files.FATES,
)


def fates(kind: type[Fate]) -> pytest.MarkDecorator:
    chosen = [fate for fate in FATES if isinstance(fate, kind)]
    return pytest.mark.parametrize("fate", chosen, ids=[" ".join(map(str, fate.key)) for fate in chosen])


def test_every_block_has_exactly_one_fate() -> None:
    found = blocks()
    assert len(found) == COUNT
    assert sorted(fate.key for fate in FATES) == sorted(found)


@pytest.mark.req("R005", "C8")
@fates(Runs)
def test_a_workflow_runs_to_the_end_that_its_text_describes_and_so_does_its_native_form(
    fate: Runs, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R239-R245."""
    text = fate.text(blocks())
    for name, value in fate.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{stage.root / 'workspace/bin'}:{os.environ['PATH']}")
    first = played(stage, fate, text)
    assert shown(first.story) == list(fate.story)
    assert first.status == fate.status
    assert first.artifacts.keys() >= set(fate.artifacts)
    other = Stage(tmp_path / "other")
    file = furnished(other, fate, text)
    again = performed(other, fate, other.convert(file))
    assert (shown(again.story), again.status) == (shown(first.story), first.status)
    # Members that work at once end in any order.
    assert sorted(again.story) == sorted(first.story)
    assert again.artifacts == first.artifacts
    other.facade.close()


@fates(Loads)
def test_a_setting_role_or_template_is_loaded_where_a_project_has_it(fate: Loads, stage: Stage) -> None:
    stage.write(fate.path, fate.text(blocks()[fate.key]))
    for name, text in texts(fate.files):
        stage.write(name, text)
    user = stage.put(fate.user)
    assert [problem.render() for problem in check(user).errors] == []
    document = load(resolved(user), name="resolved").value
    for path, value in fate.gives.items():
        found = document
        for key in path.split("/"):
            found = found[int(key) if key.isdigit() else key]
        assert found == value, path
    native = converted(stage.root / fate.path)
    assert [part for part in fate.also if part not in native] == []


@fates(Contradicts)
def test_what_contradicts_itself_is_refused_with_the_reason(fate: Contradicts, stage: Stage) -> None:
    file = stage.put(fate.text(blocks()[fate.key]))
    assert any(fate.message in problem.message for problem in check(file).errors)
    assert re.fullmatch(r"C\d+", fate.decision)


def texts(files: Mapping[str, str | Key]) -> Iterator[tuple[str, str]]:
    for name, text in files.items():
        yield name, text if isinstance(text, str) else blocks()[text]


class Played:
    def __init__(self, story: Any, end: str, artifacts: Any) -> None:
        self.story, self.status, self.artifacts = story, end, artifacts


def played(stage: Stage, fate: Runs, text: str) -> Played:
    return performed(stage, fate, furnished(stage, fate, text))


def furnished(stage: Stage, fate: Runs, text: str) -> Path:
    for name, content in texts(fate.files):
        path = stage.write(name, content)
        if content.startswith("#!"):
            path.chmod(0o755)
    return stage.put(text, cast=fate.cast)


def performed(stage: Stage, fate: Runs, file: Path) -> Played:
    run, state = stage.run(file, fate.inputs)
    for answer in fate.answers:
        view = stage.view(run)
        stage.say(run, told(view, answer))
        state = stage.resume(run)
    return Played(stage.story(run), status(state), stage.artifacts(run))


def told(view: RunView, answer: str) -> Any:
    action, _, words = answer.partition(": ")
    return Approve(view.pending[0].path, action, "ann", words)


def shown(story: list[tuple[str, int, str]]) -> list[str]:
    """Top steps; what did not pass says so, and a later visit its number."""
    rows = [row for row in story if "/" not in row[0] and "[" not in row[0] and "#" not in row[0]]
    return [
        step + (f"~{visit}" if visit > 1 else "") + ("" if outcome == "passed" else f":{outcome}")
        for step, visit, outcome in rows
    ]
