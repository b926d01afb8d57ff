"""The registry of agents: built-in ones by their folders, others by the entry points of packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podium.adapters.agents import entry_points, registry
from podium.adapters.agents.registry import BUILT_IN, InstalledAgents, agent_types, find
from podium.errors import ConfigurationError
from podium.ports.agent import Agent, ServiceAgent

MODULE = """\
from podium.ports.agent_type import AgentType, Capabilities

class Knitter:
    def prepare(self, request):
        raise NotImplementedError

ABLE = {capabilities}
AGENT = AgentType({arguments})
"""
ABLE = 'Capabilities(tools=False, continuity="", price="free", needs="limits")'
GOOD = 'name="knitter", make="{module}:Knitter", capabilities=ABLE'
Install = Callable[..., str]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package where Python finds it; returns its name."""
    entry_points._entries.cache_clear()
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(
        arguments: str = GOOD, *, capabilities: str = ABLE, entry: str = "knitter", number: int = 1
    ) -> str:
        module = f"podium_knitter_{number}"
        text = MODULE.format(arguments=arguments.format(module=module), capabilities=capabilities)
        (tmp_path / f"{module}.py").write_text(text)
        info = tmp_path / f"{module}-1.{number}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: podium-knitter-{number}\nVersion: 1.{number}\n"
        )
        (info / "entry_points.txt").write_text(f"[{entry_points.GROUP}]\n{entry} = {module}:AGENT\n")
        return f"podium-knitter-{number}"

    yield put
    entry_points._entries.cache_clear()
    for name in [name for name in sys.modules if name.startswith("podium_knitter_")]:
        del sys.modules[name]


@pytest.mark.req("R013")
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_agent_registers_itself_and_its_adapter_is_an_agent(name: str) -> None:
    agent_type = registry.built_in(name)

    assert agent_type.name == name
    assert isinstance(agent_type.new_adapter(), Agent | ServiceAgent)
    assert isinstance(agent_type.new_adapter(), ServiceAgent) == (not agent_type.capabilities.files)
    assert agent_types().find(name) is agent_type.capabilities


def test_the_agents_that_work_unnamed_have_an_order() -> None:
    ranks = sorted(one.preferred for one in registry.built_in_types() if one.preferred)

    assert ranks == list(range(1, len(ranks) + 1))


def test_an_agent_of_another_package_is_found_and_made(install: Install) -> None:
    install()
    agents = InstalledAgents()
    assert tuple(agents) == BUILT_IN, "nothing is looked up before it is asked for"

    assert "knitter" in agent_types()
    assert list(agent_types())[-1] == "knitter"
    assert type(agents["knitter"].adapter).__name__ == "Knitter"
    assert agents["knitter"].adapter is agents["knitter"].adapter
    assert (tuple(agents), len(agents)) == ((*BUILT_IN, "knitter"), len(BUILT_IN) + 1)
    assert agents.look_up_all() == ()


def test_a_name_that_nobody_registers_is_not_there(install: Install) -> None:
    install()

    assert find("crocheter") is None
    assert "crocheter" not in agent_types()
    assert InstalledAgents().get("crocheter") is None


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (GOOD.replace('"knitter"', '"weaver"'), 'podium_knitter_1:AGENT calls itself "weaver"'),
        (f"{GOOD}, preferred=1", "preferred must be 0"),
        ("name=1 / 0", "importing podium_knitter_1:AGENT failed: ZeroDivisionError: division by zero"),
    ],
)
def test_a_registration_that_cannot_be_used_is_refused_with_its_package(
    install: Install, arguments: str, fact: str
) -> None:
    package = install(arguments)

    with pytest.raises(ConfigurationError) as refused:
        find("knitter")

    assert refused.value.message.startswith(
        f'package {package} 1.1: its agent "knitter" cannot be used: {fact}'
    )
    assert (
        refused.value.hint
        == f"update it: pip install --upgrade {package}; or remove it: pip uninstall {package}"
    )


def test_a_key_whose_type_no_value_of_a_file_can_have_is_refused(install: Install) -> None:
    install(capabilities=ABLE.replace("tools=False", 'tools=False, keys={"wool": 3}'))

    with pytest.raises(
        ConfigurationError, match="its key wool must be an AgentKey with a type that files can have"
    ):
        find("knitter")


@pytest.mark.parametrize("name", ["claude", "human", "auto"])
def test_a_package_cannot_take_a_name_of_podiums_own(install: Install, name: str) -> None:
    install(GOOD.replace('"knitter"', f'"{name}"'), entry=name)
    agents = InstalledAgents()

    (fault,) = agents.look_up_all()

    assert (
        f'its agent "{name}" cannot be used: Podium itself has an agent or a word of that name'
        in fault.message
    )
    assert tuple(agents) == BUILT_IN
    assert name not in list(agent_types())[len(BUILT_IN) :]
    assert registry.built_in("claude").make.startswith("podium.")


def test_a_name_that_no_workflow_could_write_is_refused(install: Install) -> None:
    install(GOOD.replace('"knitter"', '"Knit-ter"'), entry="Knit-ter")

    with pytest.raises(ConfigurationError, match="the name must have only small letters, digits and _"):
        find("Knit-ter")


def test_two_packages_with_one_name_are_both_told(install: Install) -> None:
    install()
    install(number=2)

    with pytest.raises(ConfigurationError) as refused:
        find("knitter")

    assert "podium-knitter-1 1.1" in refused.value.message
    assert "podium-knitter-2 1.2" in refused.value.message
    assert "pip uninstall podium-knitter-" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        ("{module}:Gone", "making podium_knitter_1:Gone failed: AttributeError"),
        ("nowhere_at_all:Knitter", "making nowhere_at_all:Knitter failed: ModuleNotFoundError"),
        ("builtins:dict", "builtins:dict gives dict, without prepare() or call()"),
    ],
)
def test_an_adapter_that_cannot_be_made_is_told_when_it_is_looked_up(
    install: Install, make: str, fact: str
) -> None:
    """Before anything runs, and not in the first attempt; a check of a file does not import it."""
    install(GOOD.replace("{module}:Knitter", make))
    assert find("knitter") is not None

    with pytest.raises(ConfigurationError, match=r"podium-knitter-1 1\.1") as refused:
        InstalledAgents().get("knitter")

    assert fact in refused.value.message
