"""Holds Podium to its layers, its pure core and lengths that fit in the head, and the checks to planted faults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from podium.adapters.agents.registry import BUILT_IN
from tests import architecture

NAMED = tuple(architecture.NAMED_AGENTS)
IMPORTED = tuple(architecture.IMPORTED_AGENTS)
ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"


@pytest.mark.req("R013")
def test_imports_point_down_and_every_module_has_a_layer() -> None:
    assert architecture.layer_faults(SRC) == ()


def test_imports_inside_core_and_workflow_point_down() -> None:
    assert architecture.inner_order_faults(SRC) == ()


@pytest.mark.req("C23")
def test_the_core_is_pure_and_reserved_modules_stay_where_they_belong() -> None:
    assert architecture.purity_faults(SRC) == ()


def test_the_engine_is_reached_only_through_the_runtime_port() -> None:
    assert architecture.port_faults(SRC) == ()


def test_modules_do_not_import_each_other_in_circles() -> None:
    assert architecture.cycle_faults(SRC) == ()


@pytest.mark.parametrize("folder", ["src", "tests", "tools", "bench"])
def test_files_and_functions_fit_in_the_head(folder: str) -> None:
    assert architecture.file_length_faults(ROOT / folder) == ()
    assert architecture.function_length_faults(ROOT / folder) == ()


def test_nine_functions_of_ten_have_at_most_thirty_lines() -> None:
    assert architecture.p90_function_lines(SRC) <= architecture.P90_FUNCTION_LINES


def test_every_package_has_a_purpose_and_few_modules() -> None:
    assert architecture.package_faults(SRC) == ()


def test_small_modules_become_fewer_and_never_more() -> None:
    small = architecture.small_modules(SRC)
    assert len(small) <= architecture.MAX_SMALL_MODULES, f"merge one of them: {small}"


@pytest.mark.parametrize("page", ["README.md", "AGENTS.md", "docs/explanation/architecture.md"])
def test_the_maps_show_what_is_there(page: str) -> None:
    assert architecture.map_faults(SRC, (ROOT / page).read_text("utf-8")) == ()


@pytest.mark.req("R013")
def test_only_the_folder_of_an_agent_knows_the_agent() -> None:
    assert architecture.agent_faults(SRC) == ()


@pytest.mark.req("R013")
def test_the_registry_lists_exactly_the_folders_of_agents() -> None:
    assert set(BUILT_IN) == architecture.agent_folders(SRC)
    assert len(set(BUILT_IN)) == len(BUILT_IN)


def test_every_exception_for_naming_an_agent_is_still_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(architecture, "NAMED_AGENTS", {})
    monkeypatch.setattr(architecture, "IMPORTED_AGENTS", {})
    faults = "\n".join(architecture.agent_faults(SRC))

    assert [module for module in NAMED if f"{module}:" not in faults] == []
    imported = re.findall(r"(?m)^podium/(.*):\d+: imports from the folder of the agent (\w+)", faults)
    assert set(imported) == set(IMPORTED)


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("app/list.py", 'PROGRAMS = ("claude", "codex")', "app/list.py:1: names the agent claude"),
        ("app/list.py", 'print("start claude once")', "app/list.py:1: names the agent claude"),
        ("app/list.py", 'print(f"no {x} but Claude")', "app/list.py:1: names the agent claude"),
        (
            "app/list.py",
            "def f():\n    from podium.adapters.agents.claude.agent import Claude",
            "podium/app/list.py:2: imports from the folder of the agent claude",
        ),
        (
            "adapters/agents/codex/agent.py",
            "from podium.adapters.agents import claude",
            "podium/adapters/agents/codex/agent.py:1: imports from the folder of the agent claude",
        ),
        ("app/list.py", '"""How claude is listed."""', None),
        ("app/list.py", 'x = "claudette"', None),
        ("app/list.py", 'x = "what was recorded"', None),
        ("app/list.py", 'x = "recorded"', "app/list.py:1: names the agent recorded"),
        ("workflow/dialects/old.py", 'x = "claude"', None),
        ("adapters/agents/claude/agent.py", 'x = "claude"', None),
    ],
)
def test_an_agent_that_is_named_outside_its_folder_is_reported(
    tmp_path: Path, path: str, text: str, complaint: str | None
) -> None:
    agents = {f"adapters/agents/{name}/__init__.py": "" for name in ("claude", "recorded", "shared")}
    faults = architecture.agent_faults(plant(tmp_path, {**agents, path: text}))

    assert list(faults) == ([] if complaint is None else [complaint])


CLEAN = {
    "__init__.py": "",
    "errors.py": "class PodiumError(Exception): ...",
    "core/model.py": "from podium.errors import PodiumError\nimport collections.abc",
    "workflow/load.py": "from podium.core import model\nfrom podium import __version__",
    "simulate/world.py": "from podium.core.model import Step",
    "frontends/cli/main.py": "def main():\n    from podium.simulate.world import run",
}


def plant(folder: Path, files: Mapping[str, str] = MappingProxyType({})) -> Path:
    """The clean tree with these files added or replaced."""
    for name, text in {**CLEAN, **files}.items():
        path = folder / architecture.PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def test_a_clean_tree_has_no_faults(tmp_path: Path) -> None:
    tree = plant(tmp_path)

    assert architecture.layer_faults(tree) == ()
    assert architecture.purity_faults(tree) == ()
    assert architecture.port_faults(tree) == ()
    assert architecture.cycle_faults(tree) == ()


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("core/plan.py", "from podium.workflow.load import x", "podium.core imports podium.workflow.load"),
        ("core/plan.py", "import podium.workflow.load", "podium.core imports podium.workflow.load"),
        ("core/plan.py", "from podium import workflow", "podium.core imports podium.workflow"),
        ("core/plan.py", "from ..workflow import load", "podium.core imports podium.workflow.load"),
        ("core/plan.py", "from .. import workflow", "podium.core imports podium.workflow"),
        ("core/plan.py", "def f():\n    from podium.app import x", "podium.core imports podium.app"),
        (
            "errors.py",
            "if TYPE_CHECKING:\n    from podium.core.model import x",
            "podium.errors imports podium.core.model",
        ),
        ("views/line.py", "from podium.workflow.load import x", "podium.views imports podium.workflow.load"),
        ("simulate/run.py", "from podium.engine import loop", "podium.simulate imports podium.engine"),
        ("workflow/up.py", "from podium.frontends.cli.main import x", "imports podium.frontends.cli.main"),
        ("core/__init__.py", "from ..workflow import load", "podium.core imports podium.workflow.load"),
        ("helpers.py", "", "podium.helpers has no layer"),
        ("misc/thing.py", "", "podium.misc has no layer"),
    ],
)
def test_a_planted_fault_breaks_the_layers(tmp_path: Path, path: str, text: str, complaint: str) -> None:
    faults = architecture.layer_faults(plant(tmp_path, {path: text}))

    assert len(faults) == 1
    assert complaint in faults[0]


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        (
            "workflow/source/yaml.py",
            "from podium.workflow.load import x",
            "source imports podium.workflow.load",
        ),
        (
            "workflow/compile/gates.py",
            "from podium.workflow.lint.check import x",
            "compile imports podium.workflow.lint",
        ),
        (
            "workflow/lint/analysis/scope.py",
            "from podium.workflow.lint.rules.inputs import x",
            "analysis imports",
        ),
        (
            "core/model.py",
            "def f():\n    from podium.core.state import x",
            "core.model imports podium.core.state",
        ),
        ("workflow/extra.py", "", "podium.workflow.extra has no line"),
    ],
)
def test_a_planted_import_breaks_the_inner_order(
    tmp_path: Path, path: str, text: str, complaint: str
) -> None:
    faults = architecture.inner_order_faults(plant(tmp_path, {path: text}))

    assert len(faults) == 1
    assert complaint in faults[0]


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("core/clock.py", "import time", "the core imports time"),
        ("core/clock.py", "from datetime import datetime", "the core imports datetime"),
        ("core/clock.py", "def f():\n    import os.path", "the core imports os.path"),
        ("core/clock.py", "import pydantic", "the core imports pydantic"),
        ("workflow/hash.py", "import subprocess", "only podium.process imports subprocess"),
        ("simulate/db.py", "from sqlite3 import connect", "only podium.adapters imports sqlite3"),
    ],
)
def test_a_planted_import_breaks_the_purity(tmp_path: Path, path: str, text: str, complaint: str) -> None:
    faults = architecture.purity_faults(plant(tmp_path, {path: text}))

    assert len(faults) == 1
    assert complaint in faults[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("app/look.py", "from podium.engine.log import x"),
        ("frontends/cli/look.py", "def f():\n    from podium.engine import log"),
        ("app/look.py", "if TYPE_CHECKING:\n    import podium.engine.log"),
    ],
)
def test_an_import_past_the_port_is_reported(tmp_path: Path, path: str, text: str) -> None:
    allowed = {
        "wiring.py": "from podium.engine.log import x",
        "engine/loop.py": "from podium.engine import log",
    }

    assert architecture.port_faults(plant(tmp_path, allowed)) == ()
    (fault,) = architecture.port_faults(plant(tmp_path, {path: text}))

    assert "only podium.wiring imports podium.engine" in fault


def test_a_circle_of_imports_is_named_in_its_order(tmp_path: Path) -> None:
    tree = plant(
        tmp_path,
        {
            "core/a.py": "from podium.core.b import x",
            "core/b.py": "def f():\n    from . import c",
            "core/c.py": "import podium.core.a",
        },
    )

    (fault,) = architecture.cycle_faults(tree)

    assert fault in {
        "cycle: podium.core.a -> podium.core.b -> podium.core.c -> podium.core.a",
        "cycle: podium.core.b -> podium.core.c -> podium.core.a -> podium.core.b",
        "cycle: podium.core.c -> podium.core.a -> podium.core.b -> podium.core.c",
    }


def test_an_import_for_the_type_checker_makes_no_circle(tmp_path: Path) -> None:
    tree = plant(
        tmp_path,
        {
            "core/a.py": "from podium.core.b import x",
            "core/b.py": "if TYPE_CHECKING:\n    from podium.core.a import y",
        },
    )

    assert architecture.cycle_faults(tree) == ()


def test_long_files_and_functions_are_reported(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("x = 1\n" * 401, "utf-8")
    (tmp_path / "deep.py").write_text("def f():\n" + "    x = 1\n" * 60, "utf-8")

    (file_fault,) = architecture.file_length_faults(tmp_path)
    (function_fault,) = architecture.function_length_faults(tmp_path)

    assert "401 lines, at most 400" in file_fault
    assert "f has 61 lines, at most 60" in function_fault


def test_the_ninth_of_ten_functions_is_the_p90(tmp_path: Path) -> None:
    """Ten functions of 1 to 10 lines: nine of them have at most 9."""
    source = "\n".join(f"def f{n}(x):\n" + "    x += 1\n" * (n - 1) for n in range(2, 11)) + "def f1(): ...\n"
    (tmp_path / "ten.py").write_text(source, "utf-8")

    assert architecture.p90_function_lines(tmp_path) == 9
    assert architecture.p90_function_lines(tmp_path / "nothing") == 0


def test_a_package_without_a_purpose_or_with_too_many_modules_is_named(tmp_path: Path) -> None:
    many = {f"core/m{number}.py": "" for number in range(architecture.MAX_MODULES + 1)}
    tree = plant(tmp_path, {"core/__init__.py": '"""The rules."""', **many})

    faults = architecture.package_faults(tree)

    assert (
        f"podium/core has {architecture.MAX_MODULES + 2} modules, at most {architecture.MAX_MODULES}"
        in faults
    )
    assert "podium/simulate/__init__.py has no docstring that says what the package is for" in faults
    assert not [fault for fault in faults if "core/__init__" in fault]


def test_a_map_that_lacks_a_package_or_draws_a_missing_one_is_named(tmp_path: Path) -> None:
    text = "  core/  the rules\n  engine/  gone\n  errors.py\nworkflow simulate\n"

    assert architecture.map_faults(plant(tmp_path), text) == (
        "frontends is not on the map",
        "engine is on the map and not in the source",
    )
