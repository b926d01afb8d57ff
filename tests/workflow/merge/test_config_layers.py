"""Merging configuration files: which one wins, what may only be tightened, and where each value comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from podium.adapters.agents.registry import agent_types
from podium.workflow.load import load
from podium.workflow.merge import config_layers
from podium.workflow.merge.merge import ORDER, Merged
from podium.workflow.schema.fields import known_keys
from podium.workflow.schema.file import File, SharedKeys
from podium.workflow.source.nodes import (
    SourceLocation,
    merge_appending,
    merge_replacing,
    node_from_value,
    plain,
)
from tests.workflow.kit import merge_project, messages, write

FLOW = "podium: 1\nsteps: {a: {run: a}}\n"


def merge_flow(folder: Path, *, project: str = "", user: str = "", flow: str = "", **options: Any) -> Merged:
    write(folder, {"flow.yaml": FLOW + flow, ".podium/config.yaml": project})
    home = write(folder / "home", {"config.yaml": user})
    return merge_project(folder, user_dir=home, **options)


@pytest.mark.req("R076")
def test_the_nearest_file_wins(tmp_path: Path) -> None:
    settings = {"project": "max_parallel: 2", "user": "max_parallel: 8", "flow": "max_parallel: 3"}

    def parallel(**options: Any) -> object:
        return merge_flow(tmp_path, **options).value["max_parallel"]

    assert parallel() == 4
    assert parallel(user=settings["user"]) == 8
    assert parallel(user=settings["user"], project=settings["project"]) == 2
    assert parallel(**settings) == 3
    assert parallel(**settings, overrides={"max_parallel": 1}) == 1


def test_maps_merge_by_key_and_lists_are_replaced(tmp_path: Path) -> None:
    value = merge_flow(
        tmp_path,
        user="agents: {claude: {model: small, args: [-a]}}\nenv: [A]\npeople: {ops: [ana]}",
        project="agents: {claude: {args: [-b]}, mine: {type: command}}\nenv: [B]\npeople: {qa: [bo]}",
        flow="agents: {claude: {model: big}}\n",
    ).value

    assert value["agents"]["claude"] == {"type": "claude", "model": "big", "args": ["-b"]}
    assert value["agents"]["mine"] == {"type": "command"}
    assert value["agents"].keys() >= {"codex", "gemini", "ollama"}
    assert value["env"] == ["B"]
    assert value["people"] == {"ops": ["ana"], "qa": ["bo"]}


def test_shipped_values_apply_where_no_other_file_sets_them(tmp_path: Path) -> None:
    value = merge_flow(tmp_path).value

    assert value["limits"] == {
        "usd": 10,
        "time": "2h",
        "transitions": 200,
        "members": 100,
        "unknown_cost": "ask",
    }
    assert value["breaker"]["visits"] == 5
    assert "**/.podium/**" in value["protect"]


def test_a_workflow_may_loosen_shipped_values(tmp_path: Path) -> None:
    merged = merge_flow(tmp_path, flow="limits: {usd: 60, members: 300}\nnetwork: [a.example]\n")

    assert messages(merged) == []
    assert merged.value["limits"]["usd"] == 60


@pytest.mark.parametrize("place", ["user", "project"])
def test_null_turns_off_a_shipped_limit_and_none_that_somebody_set(tmp_path: Path, place: str) -> None:
    merged = merge_flow(
        tmp_path, **{place: "limits: {time: 1h}"}, flow="limits: {time: null, transitions: null}"
    )

    assert messages(merged) == []
    assert (merged.value["limits"]["time"], merged.value["limits"]["transitions"]) == ("1h", None)


def test_a_workflow_may_not_loosen_the_default_sandbox(tmp_path: Path) -> None:
    merged = merge_flow(tmp_path, flow="sandbox: none\nnetwork: open\n")

    assert [message.partition(": ")[2] for message in messages(merged)] == [
        "sandbox: none is weaker than the default",
        "network: open is more than the default",
    ]


def test_nor_what_an_attempt_may_use_by_default(tmp_path: Path) -> None:
    flow = "sandbox: {disk: 21G, scratch: 100M, files: 2000000, processes: 4096, memory: 64G, cpu: 8}\n"

    assert [message.partition(": ")[2] for message in messages(merge_flow(tmp_path, flow=flow))] == [
        "sandbox.disk: 21G is more than the default",
        "sandbox.files: 2000000 is more than the default",
    ]
    assert messages(merge_flow(tmp_path, project="sandbox: {disk: 30G, files: 3000000}", flow=flow)) == []


def test_a_bound_without_a_level_leaves_the_default_level_in_force(tmp_path: Path) -> None:
    merged = merge_flow(tmp_path, user="sandbox: {disk: 30G}", flow="sandbox: none\n")

    assert [message.partition(": ")[2] for message in messages(merged)] == [
        "sandbox: none is weaker than the default"
    ]


@pytest.mark.parametrize("place", ["project", "user"])
@pytest.mark.parametrize(
    ("bound", "own", "message"),
    [
        ("limits: {usd: 5}", "limits: {usd: 20}", "limits.usd: 20 is more than 5"),
        ("limits: {time: 1h}", "limits: {time: 90m}", "limits.time: 90m is more than 1h"),
        ("limits: {tokens: 200k}", "limits: {tokens: 1M}", "limits.tokens: 1M is more than 200k"),
        ("limits: {window: 50%}", "limits: {window: 80%}", "limits.window: 80% is more than 50%"),
        ("limits: {members: 3}", "limits: {members: 4}", "limits.members: 4 is more than 3"),
        (
            "limits: {usd: 5}",
            "limits: {per: run}",
            "limits.per: run, which gives the limits anew to each run of a series",
        ),
        (
            "limits: {unknown_cost: refuse}",
            "limits: {unknown_cost: ask}",
            "limits.unknown_cost: ask is more than refuse",
        ),
        ("sandbox: bubblewrap", "sandbox: limits", "sandbox: limits is weaker than bubblewrap"),
        ("sandbox: {level: container}", "sandbox: auto", "sandbox: auto is weaker than container"),
        ("sandbox: {disk: 2G}", "sandbox: {disk: 3000M}", "sandbox.disk: 3000M is more than 2G"),
        ("sandbox: {memory: 2G}", "sandbox: {memory: 4G}", "sandbox.memory: 4G is more than 2G"),
        ("sandbox: {processes: 10}", "sandbox: {processes: 11}", "sandbox.processes: 11 is more than 10"),
        ("network: [a.example]", "network: [b.example]", "network: b.example is not in [a.example]"),
        ("network: [a.example]", "network: open", "network: open is not in [a.example]"),
    ],
)
def test_a_workflow_may_not_loosen_a_value_of_the_project_or_user(
    tmp_path: Path, place: str, bound: str, own: str, message: str
) -> None:
    merged = merge_flow(tmp_path, **{place: bound}, flow=own)
    (problem,) = merged.problems

    file = ".podium/config.yaml" if place == "project" else "home/config.yaml"
    assert (problem.line, problem.message) == (3, f"{message}, the value set by {tmp_path / file}:1")
    key = bound.split(":", maxsplit=1)[0]
    alone = merge_flow(tmp_path, **{place: bound}).value[key]
    assert merged.value[key] == alone, "the bound stays in force"


@pytest.mark.parametrize(
    ("bound", "own"),
    [
        ("limits: {usd: 5, time: 1h}", "limits: {usd: 5, time: 59m, calls: 9}"),
        ("sandbox: limits", "sandbox: {level: container, image: x}"),
        ("sandbox: none", "sandbox: auto"),
        ("sandbox: bubblewrap", "sandbox: bubblewrap"),
        ("network: [a.example, b.example]", "network: [b.example]"),
        ("network: open", "network: [b.example]"),
        ("network: [a.example]", "network: []"),
        # The schema reports a value that is not a measure, so it is not compared.
        ("limits: {usd: much, time: long, tokens: [1]}", "limits: {usd: 5, time: 1h, tokens: 5}"),
        ("limits: {usd: true}", "limits: {usd: 9}"),
        ("sandbox: cellar", "sandbox: none"),
    ],
)
def test_a_workflow_may_tighten_a_value_of_the_project(tmp_path: Path, bound: str, own: str) -> None:
    merged = merge_flow(tmp_path, project=bound, flow=own)

    assert [problem for problem in merged.problems if problem.rule == config_layers.LOOSER_RULE] == []
    for key, value in merge_flow(tmp_path, flow=own).value.items():
        if key in {"network", "sandbox"}:
            assert merged.value[key] == value


@pytest.mark.parametrize(
    ("flow", "at_most"),
    [
        ("limits: {usd: '${{ inputs.most }}'}", {"usd": 5}),
        ("limits: {usd: '${{ inputs.most }}', at_most: {usd: 9}}", {"usd": 5}),
        ("limits: {usd: '${{ inputs.most }}', at_most: {usd: 3}}", {"usd": 3}),
        ("limits: {calls: '${{ inputs.most }}', at_most: {calls: 9}}", {"calls": 9}),
    ],
)
def test_a_limit_that_inputs_decide_is_at_most_that_of_the_project(
    tmp_path: Path, flow: str, at_most: dict[str, int]
) -> None:
    merged = merge_flow(tmp_path, project="limits: {usd: 5}", flow=f"inputs: {{most: number}}\n{flow}\n")

    assert messages(merged) == []
    assert merged.value["limits"]["at_most"] == at_most


def test_the_limits_of_a_series_hold_for_each_run_where_the_project_says_so(tmp_path: Path) -> None:
    for project in ("limits: {usd: 5, per: run}", "limits: {members: 3}"):
        assert messages(merge_flow(tmp_path, project=project, flow="limits: {per: run}\n")) == []


def test_sandbox_bounds_apply_to_steps_gates_and_own_roles(tmp_path: Path) -> None:
    flow = """roles: {worker: {sandbox: none, gates: [{run: x, network: [c.example]}]}}
finally: {network: {run: x, network: [a.example]}}
gates: {g: {run: x, sandbox: none}}
"""
    inner = "podium: 1\nsteps: {a: {steps: {b: {run: b, network: open, with: {network: mine}}}}}\n"
    write(
        tmp_path,
        {".podium/config.yaml": "sandbox: limits\nnetwork: [a.example]\n", "flow.yaml": inner + flow},
    )
    merged = merge_project(tmp_path)

    assert [(p.line, p.message.split(",")[0]) for p in sorted(merged.problems)] == [
        (2, "network: open is not in [a.example]"),
        (3, "sandbox: none is weaker than limits"),
        (3, "network: c.example is not in [a.example]"),
        (5, "sandbox: none is weaker than limits"),
    ]


def test_the_command_line_may_loosen_a_value(tmp_path: Path) -> None:
    merged = merge_flow(
        tmp_path,
        project="limits: {usd: 5}\nsandbox: container\nprotect: [x]",
        overrides={"limits": {"usd": 50}, "sandbox": "none", "protect": []},
    )

    assert messages(merged) == []
    assert merged.value["limits"]["usd"] == 50
    assert merged.value["sandbox"] == "none"
    assert merged.value["protect"] == []
    assert merged.origin(("limits", "usd")) == SourceLocation("command line", 1, 1)
    assert merged.origin(()).file == str(tmp_path / "flow.yaml")


def test_protected_paths_are_only_added(tmp_path: Path) -> None:
    protect = merge_flow(tmp_path, user="protect: [u]", project="protect: [p]", flow="protect: [w, u]").value[
        "protect"
    ]

    assert protect[-3:] == ["u", "p", "w"]
    assert "**/.podium/**" in protect


def test_channels_are_not_part_of_a_workflow(tmp_path: Path) -> None:
    """Otherwise a run could not be resumed after an address has changed, and the address would be stored with it."""
    user = "notify: {phone: {url: x}}"

    assert "notify" not in merge_flow(tmp_path, user=user).value
    assert merge_flow(tmp_path, user=user, flow="notify: [phone]").value["notify"] == ["phone"]


def test_mistakes_in_channels_are_reported_with_their_place(tmp_path: Path) -> None:
    project = """\
notify:
  both: {url: x, desktop: true}
  bare: {on: [asked]}
  hook: {webhook: "https://x"}
  word: {url: x, on: [aksed]}
  late: {url: x, quiet: "22-7"}
  there: {url: x, digest: "08:00 Nowhere/Town"}
"""

    kinds = "asked, reminded, escalated, answered, vetoable, failed, limited, stuck, passed or all"
    hours = 'a time of day until another one, such as "22:00-07:00" or "22:00-07:00 Europe/Berlin"'
    one = "needs exactly one of url, webhook, desktop, command"
    assert messages(merge_flow(tmp_path, project=project)) == [
        f'config.yaml:2: the channel "both" {one}',
        f'config.yaml:3: the channel "bare" {one}',
        'config.yaml:4: the channel "hook" needs "secret"',
        f'config.yaml:5: "on[0]" must be {kinds}',
        f'config.yaml:6: "quiet" must be {hours}',
        'config.yaml:7: "digest" must be a time zone that this machine knows, such as Europe/Berlin',
    ]


def test_a_configuration_is_checked_even_where_a_nearer_file_hides_it(tmp_path: Path) -> None:
    merged = merge_flow(tmp_path, project="limts: {usd: 5}\nmax_parallel: many\n", flow="max_parallel: 2")

    assert messages(merged) == [
        'config.yaml:1: the configuration has an unknown key "limts"',
        'config.yaml:2: "max_parallel" must be a whole number',
    ]


def test_a_limit_of_a_configuration_cannot_be_computed(tmp_path: Path) -> None:
    merged = merge_flow(tmp_path, project='limits: {calls: 9, usd: "${{ inputs.most }}"}')

    assert messages(merged) == [
        'config.yaml:1: "limits.usd" of a configuration must be a value, because only workflows have inputs'
    ]


def test_every_key_of_the_language_has_a_position_in_the_merged_file() -> None:
    assert set(ORDER) | {"extends", "disable"} == set(known_keys(File))
    assert set(config_layers.KEYS) == set(known_keys(SharedKeys))


def test_the_origin_of_a_missing_value_is_the_value_around_it(tmp_path: Path) -> None:
    merged = merge_flow(tmp_path, flow="env: [A, B]\n")
    flow = str(tmp_path / "flow.yaml")

    assert merged.origin(("steps", "a", "run")) == (flow, 2, 18)
    assert merged.origin(("steps", "a", "run"), key=True) == (flow, 2, 13)
    assert merged.origin(("steps", "a", "role"), key=True) == (flow, 2, 12)
    assert merged.origin(("steps", "z", "role")) == (flow, 2, 8)
    assert merged.origin(("env", 1)) == (flow, 3, 10)
    assert merged.origin(("env", 7)) == (flow, 3, 6)
    assert merged.origin(("limits", "usd")).file == "podium/defaults.yaml"


def test_the_written_form_of_a_number_is_kept(tmp_path: Path) -> None:
    merged = merge_flow(tmp_path, flow="vars: {version: 1.10, name: x}\n")

    assert merged.source(("vars", "version")) == "1.10"
    assert merged.source(("vars", "name")) is None
    assert merged.source(("vars", "nothing")) is None


def test_unknown_keys_come_last(tmp_path: Path) -> None:
    value = merge_flow(tmp_path, flow="zzz: 1\nname: x\n").value

    assert list(value)[:2] == ["podium", "name"]
    assert list(value)[-1] == "zzz"


HERE = SourceLocation("x.yaml", 1, 1)
scalars = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b", "c"])
keys = st.sampled_from(["a", "b", "context", "sandbox"])
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)
maps = st.dictionaries(keys, trees, max_size=4)


@given(maps)
def test_merging_a_document_with_nothing_or_itself_changes_nothing(value: dict[str, Any]) -> None:
    node, empty = node_from_value(value, HERE), node_from_value({}, HERE)

    for join in (merge_appending, merge_replacing):
        assert plain(join(empty, node)) == value
        assert plain(join(node, empty)) == value
    assert plain(merge_replacing(node, node)) == value


@given(maps, maps, maps)
def test_merging_configuration_is_associative(a: Any, b: Any, c: Any) -> None:
    assume(not any(_clashes(x, y) for x, y in ((a, b), (b, c), (a, c))))
    one, two, three = (node_from_value(value, HERE) for value in (a, b, c))

    assert plain(merge_replacing(merge_replacing(one, two), three)) == plain(
        merge_replacing(one, merge_replacing(two, three))
    )


def _clashes(a: Any, b: Any) -> bool:
    """Whether one key has a map in one document and another value in the other, so that merging is not associative."""
    both = a.keys() & b.keys()
    return any(isinstance(a[key], dict) != isinstance(b[key], dict) for key in both) or any(
        _clashes(a[key], b[key]) for key in both if isinstance(a[key], dict)
    )


@given(maps, maps)
def test_values_of_the_top_document_are_always_kept(a: Any, b: Any) -> None:
    merged = plain(merge_replacing(node_from_value(a, HERE), node_from_value(b, HERE)))

    assert merged.keys() == a.keys() | b.keys()
    for key in b.keys() - a.keys():
        assert merged[key] == b[key]


def test_the_definition_of_a_started_run_was_accepted_with_what_it_loosens(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text("podium: 1\nname: w\nsandbox: none\nsteps: {a: {run: x, network: open}}\n")

    new = load(file, agent_types=agent_types())
    started = load(file, agent_types=agent_types(), is_started=True)

    assert (new.workflow, len(new.errors)) == (None, 2)
    assert (started.workflow is not None, started.errors) == (True, ())
