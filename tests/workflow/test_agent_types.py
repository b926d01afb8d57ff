"""Files are checked against the table of agent types that the caller passes in."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.workflow.agent_capabilities import AgentTypes, Capabilities
from podium.workflow.load import load
from podium.workflow.problems import Problem

WEAVER = Capabilities(tools=True, continuity="", price="free", needs="limits", vendor="loom")
KNITTER = Capabilities(
    tools=False,
    continuity="",
    price="free",
    needs="limits",
    vendor="wool",
    settings={"size": {"type": "integer"}},
)


class Table:
    """Two types, of which one is built in; remembers what was looked up."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.types = AgentTypes(("weaver",), self.find, lambda: ("knitter",))

    def find(self, name: str) -> Capabilities | None:
        self.asked.append(name)
        return {"weaver": WEAVER, "knitter": KNITTER}.get(name)


def problems(folder: Path, table: Table, steps: str, head: str = "") -> list[Problem]:
    (folder / "flow.yaml").write_text(f"podium: 1\nname: flow\n{head}steps: {{{steps}}}\n")
    return list(load(folder / "flow.yaml", agent_types=table.types, project=folder).problems)


def test_only_types_of_the_table_and_agents_of_the_file_can_be_named(tmp_path: Path) -> None:
    table = Table()
    head = "agents: {mine: {type: unheard_of, size: any}}\n"
    steps = "a: {agent: weaver, prompt: x}, b: {agent: knitter, prompt: x}, c: {agent: mine, prompt: x}"

    assert problems(tmp_path, table, steps, head) == []
    (unknown,) = problems(tmp_path, table, "a: {agent: kniter, prompt: x}")
    assert (unknown.rule, unknown.message, unknown.hint) == (
        21,
        'agent "kniter" does not exist',
        'did you mean "knitter"?',
    )


@pytest.mark.parametrize(
    ("steps", "hint"),
    [
        ("a: {role: weaver, prompt: x}", '"weaver" is an agent; write agent: weaver'),
        ("a: {agent: planner, prompt: x}", '"planner" is a role; write role: planner'),
    ],
)
def test_a_name_of_the_other_kind_is_told_as_such(tmp_path: Path, steps: str, hint: str) -> None:
    assert [problem.hint for problem in problems(tmp_path, Table(), steps)] == [hint]


def test_names_of_roles_and_built_in_agents_are_not_looked_up(tmp_path: Path) -> None:
    """Looking a name up may read the metadata of all installed packages."""
    table = Table()
    head = "roles: {smith: {agent: weaver, prompt: x}}\n"
    steps = "a: {role: smith}, b: {review: reviewer}, c: {agent: human, prompt: x, done: {file: x}}"

    assert [one for one in problems(tmp_path, table, steps, head) if not one.warning] == []
    assert set(table.asked) <= {"weaver"}


def test_a_role_may_have_the_name_of_an_agent_that_is_not_built_in(tmp_path: Path) -> None:
    roles = "roles: {{{0}: {{agent: weaver, prompt: x}}}}\n"

    assert problems(tmp_path, Table(), "a: {role: knitter}", roles.format("knitter")) == []
    (clash,) = problems(tmp_path, Table(), "a: {role: weaver}", roles.format("weaver"))
    assert clash.message == '"weaver" is both a role and an agent'


def test_what_a_type_cannot_do_and_settings_it_cannot_use_are_mistakes_of_the_file(tmp_path: Path) -> None:
    head = "agents: {k: {type: knitter, size: large, yarn: 3}, l: {type: knitter, size: '${{ run.id }}'}}\n"
    steps = "a: {agent: k, prompt: x, tools: [read]}, b: {agent: l, prompt: x}"
    actual = {problem.message for problem in problems(tmp_path, Table(), steps, head)}

    assert actual == {
        'knitter cannot enforce tools: [read], which step "a" requires',
        "agents.k.size is string, not integer",
    }
