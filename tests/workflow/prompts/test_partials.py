"""Partials: where they are found, messages for invalid ones, and what other prompts may include."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.adapters.agents.registry import agent_types
from podium.workflow.load import load
from podium.workflow.prompts.partials import FOLDER, MAX_CHARS, PARTIALS, shipped_partial
from podium.workflow.prompts.render import parse_prompt
from podium.workflow.source.files import SHIPPED
from tests.workflow.compiling import load_text
from tests.workflow.kit import write

FLOW = "agents: {w: {type: scripted}}\nsteps: {it: {agent: w, prompt: Do it}}\n"
TASK = "{{ step.name }}, please.\n"


def messages_for(folder: Path, name: str, text: str) -> list[str]:
    actual = load_text(folder, FLOW, {f".podium/partials/{name}.md": text})
    return [f"{Path(one.file).name}:{one.line}: {one.message}" for one in actual.errors]


def test_exactly_the_partials_of_the_table_are_shipped() -> None:
    assert sorted(path.stem for path in (SHIPPED / FOLDER).iterdir()) == sorted(PARTIALS)


@pytest.mark.parametrize("name", sorted(PARTIALS))
def test_a_shipped_partial_passes_the_checks_for_own_partials(tmp_path: Path, name: str) -> None:
    assert messages_for(tmp_path, name, shipped_partial(f"{name}.md") or "") == []


@pytest.mark.req("R048")
def test_a_partial_of_the_project_overrides_that_of_the_user(tmp_path: Path) -> None:
    home = write(
        tmp_path / "home", {"partials/task.md": "The user's.\n", "partials/advice.md": "{{ situation }}"}
    )
    project = write(
        tmp_path / "project", {".podium/partials/task.md": TASK, "flow.yaml": f"podium: 1\n{FLOW}"}
    )

    actual = load(project / "flow.yaml", project=project, user_dir=home, agent_types=agent_types())

    assert actual.workflow is not None, actual.errors
    assert dict(actual.workflow.config.partials) == {"advice.md": "{{ situation }}", "task.md": TASK}
    assert {project / ".podium/partials/task.md", home / "partials/advice.md"} <= set(actual.paths)


def test_the_fingerprint_changes_when_a_partial_changes(tmp_path: Path) -> None:
    plain = load_text(tmp_path, FLOW).workflow
    first = load_text(tmp_path, FLOW, {".podium/partials/task.md": TASK}).workflow
    second = load_text(tmp_path, FLOW, {".podium/partials/task.md": TASK + "Now.\n"}).workflow

    assert plain is not None and first is not None and second is not None
    assert len({plain.fingerprint, first.fingerprint, second.fingerprint}) == 3
    assert not plain.config.partials


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("task", "{{ step.nmae }}", "task.md:1: this partial reads step.nmae, which is not available to it"),
        ("task", "\n{{ inputs.x }}", "task.md:2: this partial reads inputs.x, which is not available to it"),
        (
            "excerpt",
            "{{ visit.x }}",
            "excerpt.md:1: this partial reads visit.x, which is not available to it",
        ),
        ("guidance", "Listen.", "guidance.md:1: this partial does not use guidance"),
        ("task", "{% if %}", 'task.md:1: expected an expression, got "end of statement block"'),
        ("task", "{% include 'x.md' %}", "task.md:1: this prompt has no folder to include files from"),
        ("task", "x" * (MAX_CHARS + 1), f"task.md:1: this partial is longer than {MAX_CHARS} characters"),
    ],
)
def test_an_invalid_partial_is_reported_with_its_line(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    assert messages_for(tmp_path, name, text) == [expected]


@pytest.mark.parametrize("missing", ["nonce", "tree", "shape", "phrase"])
def test_a_verdict_partial_must_contain_what_a_verdict_repeats(tmp_path: Path, missing: str) -> None:
    text = "".join(f"{{{{ {name} }}}}" for name in ("nonce", "tree", "shape", "phrase") if name != missing)

    assert messages_for(tmp_path, "verdict", text) == [f"verdict.md:1: this partial does not use {missing}"]


def test_a_partial_that_is_not_text_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {".podium/partials/x.md": ""})
    (tmp_path / ".podium/partials/task.md").write_bytes(b"\xff")

    actual = load_text(tmp_path, FLOW)

    assert [one.message for one in actual.errors] == ["cannot read this file as UTF-8"]


def test_a_partial_of_a_project_may_not_be_a_link_out_of_it(tmp_path: Path) -> None:
    write(tmp_path, {"secret.md": "mine"})
    project = write(tmp_path / "project", {".podium/partials/x.md": ""})
    (project / ".podium/partials/task.md").symlink_to(tmp_path / "secret.md")

    actual = load_text(project, FLOW)

    assert [(one.rule, one.message) for one in actual.errors] == [
        (24, '"task.md" is a link out of the project')
    ]


def test_a_partial_of_the_user_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path, {"dotfiles/task.md": TASK, "home/partials/x.md": ""})
    (tmp_path / "home/partials/task.md").symlink_to(tmp_path / "dotfiles/task.md")

    actual = load_text(tmp_path / "project", FLOW, user_dir=tmp_path / "home")

    assert actual.workflow is not None
    assert actual.workflow.config.partials["task.md"] == TASK


def test_a_prompt_may_include_partials_of_its_project(tmp_path: Path) -> None:
    flow = FLOW.replace("Do it", "'{% include \"partials/house.md\" %}'")

    assert (
        load_text(tmp_path, flow, {".podium/partials/house.md": "Be brief in {{ run.name }}."}).errors == ()
    )
    wrong = load_text(tmp_path, flow, {".podium/partials/house.md": "Be\n{{ brief }}."}).errors
    (tmp_path / ".podium/partials/house.md").unlink()
    missing = load_text(tmp_path, flow).errors

    assert [(Path(one.file).name, one.line, one.message) for one in wrong] == [
        ("house.md", 2, "the prompt reads brief, which is not declared")
    ]
    assert [one.message for one in missing] == ["partial house.md does not exist"]


def test_a_file_next_to_the_prompt_hides_a_partial_of_the_same_name(tmp_path: Path) -> None:
    write(tmp_path, {"partials/house.md": "beside"})

    prompt = parse_prompt(
        '{% include "partials/house.md" %}', folder=tmp_path, name="p.md", partials={"house.md": "shelf"}
    )

    assert dict(prompt.files)["partials/house.md"] == "beside"


def test_partials_may_include_each_other(tmp_path: Path) -> None:
    texts = {"house.md": "Our house. {{ step.name }}", "task.md": '{% include "partials/house.md" %}'}
    files = {f".podium/partials/{name}": text for name, text in texts.items()}

    assert load_text(tmp_path, FLOW, files).errors == ()
    assert "partials/task.md" in dict(
        parse_prompt('{% include "partials/task.md" %}', folder=None, name="p.md").files
    )
