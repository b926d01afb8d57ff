"""Files are checked against the table of agent types that the caller passes in."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.workflow.agent_capabilities import AgentTypes, Capabilities
from podium.workflow.agent_keys import AgentKey
from podium.workflow.load import load
from podium.workflow.problems import Problem
from podium.workflow.schema.scalars import Positive

WEAVER = Capabilities(tools=True, continuity="", price="free", needs="limits", vendor="loom")
KNITTER = Capabilities(
    tools=False,
    continuity="",
    price="free",
    needs="limits",
    vendor="wool",
    keys={
        "size": AgentKey(Positive, "in centimetres"),
        "flags": AgentKey(tuple[str, ...], "of its program", trusted=True),
    },
    unsupported={"thinking": "needles do not think"},
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
    actual = {(problem.message, problem.hint) for problem in problems(tmp_path, Table(), steps, head)}

    keys = "type, enabled, description, model, context_window, price, estimate, stall, env, step_tools, size and flags"
    assert actual == {
        ('knitter cannot enforce tools: [read], which step "a" requires', ""),
        ('"size" must be a whole number', ""),
        ('agent "k" of type knitter has an unknown key "yarn"', f"its keys are {keys}"),
    }


@pytest.mark.parametrize(
    ("key", "rule", "message", "hint"),
    [
        ("siez: 3", 3, 'agent "k" of type knitter has an unknown key "siez"', 'did you mean "size"?'),
        ("thinking: 4", 22, "knitter cannot honour thinking: needles do not think", ""),
        ("tools: [x]", 22, "knitter cannot honour tools: tools belong to a role or a step", ""),
    ],
)
def test_a_key_that_the_type_does_not_have_is_refused_with_line_reason_and_nearest_key(
    tmp_path: Path, key: str, rule: int, message: str, hint: str
) -> None:
    head = f"agents:\n  k: {{type: knitter, size: null, {key}}}\n"
    (problem,) = problems(tmp_path, Table(), "a: {agent: k, prompt: x}", head)

    assert (problem.line, problem.rule, problem.message, problem.hint) == (4, rule, message, hint)


def test_a_key_of_a_configuration_is_checked_at_its_own_line(tmp_path: Path) -> None:
    write_config(tmp_path, "agents:\n  k: {type: knitter, size: wide}\n")
    (problem,) = problems(tmp_path, Table(), "a: {agent: k, prompt: x}")

    assert problem.file.endswith(".podium/config.yaml")
    assert (problem.line, problem.message) == (2, '"size" must be a whole number')


def test_a_trusted_key_is_for_configurations_and_the_command_line_only(tmp_path: Path) -> None:
    """A workflow may come from elsewhere, and such a key decides what the program of the agent does."""
    steps, flags = "a: {agent: knitter, prompt: x}", "agents: {knitter: {flags: [--fast]}}\n"
    (problem,) = problems(tmp_path, Table(), steps, flags)
    typed = {"agents": {"knitter": {"flags": ["--slow"]}}}
    assert problem.message == "agents.knitter.flags of knitter must not be set by a workflow or a template"
    assert problem.hint == (
        "set it in .podium/config.yaml or your own configuration, or type --set agents.knitter.flags=..."
    )
    overridden = load(tmp_path / "flow.yaml", agent_types=Table().types, project=tmp_path, overrides=typed)
    assert overridden.problems == ()

    write_config(tmp_path, flags)
    assert problems(tmp_path, Table(), steps) == []


def test_an_agent_that_a_nearer_file_gives_another_type_does_not_keep_the_keys_of_the_old_one(
    tmp_path: Path,
) -> None:
    write_config(tmp_path, "agents: {it: {type: knitter, size: 3, model: wool}}\n")
    head = "agents: {{it: {{type: {0}, description: new}}}}\n"

    for kind, keys in (
        ("weaver", {"type", "description"}),
        ("knitter", {"type", "description", "size", "model"}),
    ):
        (tmp_path / "flow.yaml").write_text(
            f"podium: 1\nname: flow\n{head.format(kind)}steps: {{a: {{agent: it, prompt: x}}}}\n"
        )
        loaded = load(tmp_path / "flow.yaml", agent_types=Table().types, project=tmp_path)
        assert loaded.problems == ()
        assert loaded.workflow is not None
        assert set(loaded.workflow.config.agents["it"]) == keys


def test_a_value_with_an_expression_is_left_to_the_attempt(tmp_path: Path) -> None:
    write_config(tmp_path, "agents: {k: {type: knitter, flags: [x, '${{ run.id }}']}}\n")

    assert problems(tmp_path, Table(), "a: {agent: k, prompt: x}") == []


def write_config(folder: Path, text: str) -> None:
    (folder / ".podium").mkdir()
    (folder / ".podium/config.yaml").write_text(text)
