"""Toolchain folders in a workspace, and the environments that would test the wrong files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.adapters.sandboxes.none import NoSandbox
from podium.attempt.workspace.toolchain import (
    FOLDERS,
    is_editable,
    path_outside,
    toolchain_folders,
    without_editable,
)
from tests.attempt.runs import bench, writes
from tests.git.kit import Project, put

WORKER = "roles: {w: {agent: claude, prompt: work}}\n"


def venv(root: Path, name: str = ".venv") -> Path:
    """Looks like an environment to whoever looks for one; its python is ours."""
    folder = root / name
    packages = folder / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (folder / "bin" / "python").symlink_to(sys.executable)
    return folder


def tracks(*names: str) -> Callable[[str], bool]:
    return frozenset(names).__contains__


def packages_of(folder: Path) -> Path:
    return folder / "lib" / "python3.11" / "site-packages"


def make_editable(folder: Path, project: Path) -> None:
    (packages_of(folder) / "__editable__.app.pth").write_text(f"{project / 'src'}\n")


@pytest.mark.parametrize("kind", ["pth", "finder", "direct_url", "relative", "egg_link"])
def test_every_kind_of_editable_install_is_recognised(tmp_path: Path, kind: str) -> None:
    folder = venv(tmp_path)
    packages = packages_of(folder)
    match kind:
        case "pth":
            (packages / "app.pth").write_text(f"{tmp_path}/src\n")
        case "finder":
            (packages / "__editable___app_finder.py").write_text(f"MAPPING = {{'app': '{tmp_path}/app'}}")
        case "egg_link":
            (packages / "app.egg-link").write_text(f"{tmp_path}/src\n.")
        case "relative":
            (packages / "app.pth").write_text("../../../../src\n")
        case _:
            info = packages / "app-1.dist-info"
            info.mkdir()
            url = {"url": f"file://{tmp_path}", "dir_info": {"editable": True}}
            (info / "direct_url.json").write_text(json.dumps(url))

    assert is_editable(folder, tmp_path)


def test_ordinary_installs_are_not_editable(tmp_path: Path) -> None:
    folder = venv(tmp_path)
    packages = packages_of(folder)
    (packages / "a.pth").write_text("# a comment\nimport os; os.getcwd()\n/elsewhere/src\n.\n")
    info = packages / "app-1.dist-info"
    info.mkdir()
    (info / "direct_url.json").write_text(json.dumps({"url": f"file://{tmp_path}", "dir_info": {}}))
    (packages / "b-1.dist-info").mkdir()
    (packages / "b-1.dist-info" / "direct_url.json").write_text("[")

    assert not is_editable(folder, tmp_path)


def test_a_real_editable_install_is_recognised(tmp_path: Path) -> None:
    """The environment that runs this test has Podium in it as editable, or it has not."""
    here = Path(sys.prefix)
    found = subprocess.run(
        [sys.executable, "-c", "import podium; print(podium.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    source = Path(found).parent.parent

    assert is_editable(here, source) == (not source.is_relative_to(here))
    assert not is_editable(here, tmp_path)


def test_untracked_toolchain_folders_are_lent_and_tracked_ones_are_not(tmp_path: Path) -> None:
    venv(tmp_path)
    (tmp_path / "web" / "node_modules").mkdir(parents=True)
    (tmp_path / "node_modules").mkdir()

    assert toolchain_folders(tmp_path, FOLDERS, "limits", tracks(), "web") == (
        ".venv",
        "node_modules",
        "web/node_modules",
    )
    assert toolchain_folders(tmp_path, FOLDERS, "limits", tracks("node_modules")) == (".venv",)
    assert toolchain_folders(tmp_path, FOLDERS, "bubblewrap", tracks()) == (".venv", "node_modules")


def test_an_environment_that_would_lie_is_lent_only_where_the_workspace_stands_in_the_projects_place(
    tmp_path: Path,
) -> None:
    (packages_of(venv(tmp_path)) / "app.pth").write_text(f"{tmp_path}/src\n")

    assert toolchain_folders(tmp_path, FOLDERS, "limits", tracks()) == ()
    assert toolchain_folders(tmp_path, FOLDERS, "bubblewrap", tracks()) == (".venv",)


def test_a_command_uses_the_projects_node_modules(project: Project, tmp_path: Path) -> None:
    """What a small node project needs: its packages, in a checkout of the captured tree."""
    put(project.root, {"node_modules/thing/index.js": "the package\n"})
    text = f"{WORKER}steps:\n  it: {{run: [cat, node_modules/thing/index.js]}}\n"

    assert bench(project, tmp_path, text).play().result("it")["output"] == "the package"


def test_a_package_of_the_project_is_the_one_of_the_captured_tree(project: Project, tmp_path: Path) -> None:
    """npm links the packages of a workspace into node_modules; a plain link would lead to the user's files."""
    project.commit({"packages/own/index.js": "old\n"})
    put(project.root, {"node_modules/thing/index.js": "the package\n", "node_modules/.bin/x": ""})
    (project.root / "node_modules" / "@me").mkdir()
    (project.root / "node_modules" / "@me" / "own").symlink_to("../../packages/own")
    text = f"""{WORKER}
steps:
  it: {{role: w, touches: ["packages/**"]}}
  own: {{run: [cat, node_modules/@me/own/index.js]}}
  thing: {{run: [cat, node_modules/thing/index.js]}}
"""
    edits = {"it": writes({"packages/own/index.js": "new\n"})}

    played = bench(project, tmp_path, text, edits=edits).play()

    assert played.result("it")["files"] == ["packages/own/index.js"]
    assert (played.result("own")["output"], played.result("thing")["output"]) == ("new", "the package")


def test_a_lent_folder_is_never_captured(project: Project, tmp_path: Path) -> None:
    put(project.root, {"node_modules/thing/index.js": "the package\n"})
    venv(project.root)
    text = f'{WORKER}steps:\n  it: {{role: w, touches: ["src/**"]}}\n'
    seen: list[bool] = []

    def edit(folder: Path, attempt: int) -> None:
        seen.append((folder / ".venv").is_symlink() and (folder / "node_modules").is_symlink())
        (folder / "src" / "app.py").write_text("x = 2\n")

    played = bench(project, tmp_path, text, edits={"it": edit}).play()

    assert seen == [True]
    assert played.result("it")["files"] == ["src/app.py"]
    assert (project.root / "node_modules" / "thing" / "index.js").exists()


def test_what_replaces_a_lent_folder_is_not_captured_either(project: Project, tmp_path: Path) -> None:
    put(project.root, {"node_modules/thing/index.js": "the package\n"})
    text = f'{WORKER}steps:\n  it: {{role: w, touches: ["src/**"]}}\n'

    def edit(folder: Path, attempt: int) -> None:
        (folder / "node_modules").unlink()
        put(folder, {"node_modules/own.js": "own\n", "src/new.py": "\n"})

    played = bench(project, tmp_path, text, edits={"it": edit}).play()

    assert played.result("it")["files"] == ["src/new.py"]


@pytest.mark.parametrize(
    "command",
    [
        "[.venv/bin/python, -m, pytest]",
        "[python, -m, pytest]",
        "[make, test]",
        '[sh, -c, "python -m pytest"]',
        "[env, python, -m, pytest]",
        '{script: "./.venv/bin/python -m pytest\\n", shell: bash}',
    ],
)
@pytest.mark.req("R011", "X4")
def test_a_gate_that_would_test_the_users_files_is_refused_with_the_reason(
    project: Project, tmp_path: Path, command: str
) -> None:
    folder = venv(project.root)
    make_editable(folder, project.root)
    text = f"""{WORKER}
steps:
  it: {{role: w, touches: ["src/**"], retry: 1, gates: [{{run: {command}}}], on: {{failed: next}}}}
"""
    path = f"{folder}/bin{os.pathsep}/usr/bin:/bin"
    bench_ = bench(
        project, tmp_path, text, edits={"it": writes({"src/app.py": "x = 2\n"})}, host_env={"PATH": path}
    )

    answer = bench_.play().answer("it#1/run")

    assert (answer.kind, answer.reason) == ("error", "editable")
    message = (answer.result or {})["message"]
    assert "installed as editable" in message
    assert "bubblewrap" in message and "without -e" in message


def test_a_command_that_has_nothing_to_do_with_it_runs(project: Project, tmp_path: Path) -> None:
    """The environment is neither lent nor on the PATH, so that nothing falls into it unnoticed."""
    folder = venv(project.root)
    make_editable(folder, project.root)
    path = f"{folder}/bin{os.pathsep}/usr/bin:/bin"
    text = "steps:\n  it: {run: [ls, -a]}\n  path: {run: [printenv, PATH]}\n"

    played = bench(project, tmp_path, text, sandbox=NoSandbox(), host_env={"PATH": path}).play()

    assert ".venv" not in played.result("it")["output"].split()
    assert played.result("path")["output"] == "/usr/bin:/bin"


def test_an_ordinary_environment_stays_on_the_path(tmp_path: Path) -> None:
    folder = venv(tmp_path)
    path = f"{folder}/bin:/usr/bin"

    assert without_editable(tmp_path, "limits", path) == path
    make_editable(folder, tmp_path)
    assert without_editable(tmp_path, "limits", path) == "/usr/bin"
    assert without_editable(tmp_path, "bubblewrap", path) == path


def test_an_environment_elsewhere_counts_as_well(project: Project, tmp_path: Path) -> None:
    outside = venv(tmp_path, "venvs")
    make_editable(outside, project.root)
    text = "steps:\n  it: {run: [python, -c, pass]}\n"

    played = bench(project, tmp_path, text, host_env={"PATH": f"{outside}/bin:/usr/bin:/bin"}).play()

    assert played.answer("it").reason == "editable"


def test_a_good_change_is_green_and_a_broken_one_red_with_an_ordinary_environment(
    project: Project, tmp_path: Path
) -> None:
    venv(project.root)
    text = f"""{WORKER}
gates:
  tests: {{run: [.venv/bin/python, -c, "import sys; sys.path.insert(0, 'src'); import app; assert app.x == 2"]}}
steps:
  good: {{role: w, touches: ["src/**"], gates: [tests]}}
  bad: {{role: w, touches: ["src/**"], gates: [tests], retry: 1, on: {{failed: next}}}}
"""
    edits = {"good": writes({"src/app.py": "x = 2\n"}), "bad": writes({"src/app.py": "x = 3\n"})}

    played = bench(project, tmp_path, text, edits=edits).play()

    assert (played.ending("good").outcome, played.ending("bad").outcome) == ("passed", "failed")


def test_a_folder_of_path_that_starts_to_lead_into_the_project_is_dropped(tmp_path: Path) -> None:
    """Links are followed for each command: an earlier one may have changed where they lead."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project / "planted", outside / "bin"):
        folder.mkdir(parents=True)
    (project / "link").symlink_to(outside / "bin")
    (tmp_path / "programs").symlink_to(project / "link")
    path = f"{tmp_path / 'programs'}:{outside / 'bin'}:{project / 'planted'}"

    assert path_outside(project, path, ()) == f"{tmp_path / 'programs'}:{outside / 'bin'}"

    (project / "link").unlink()
    (project / "link").symlink_to("planted")

    assert path_outside(project, path, ()) == str(outside / "bin")
