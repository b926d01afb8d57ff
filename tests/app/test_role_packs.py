"""Roles from a file, a folder or a git repository: what is refused, what is written, what is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.app.author.role_packs import Pack, install, open_pack
from podium.errors import ConfigurationError
from tests.engine.kit import git
from tests.workflow.kit import write

TRADER = "extends: implementer\ndescription: Trades\nsystem: Keep the stop-loss.\ngates: [{run: make risk}]\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "project", {})


def pack_in(tmp_path: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = tmp_path / "pack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return str(tmp_path / "pack")


def opened(source: str, project: Path, *, replace: bool = False) -> Pack:
    return open_pack(source, home=project / ".podium", project=project, user_dir=None, replace=replace)


@pytest.mark.req("R230", "R075", "R236")
def test_a_folder_is_installed_with_its_version_and_dependencies(tmp_path: Path, project: Path) -> None:
    manifest = 'name: trading\nversion: "1.2"\nrequires: [planner]\n'
    source = pack_in(
        tmp_path,
        {
            "pack.yaml": manifest,
            "roles/trader.yaml": TRADER,
            "roles/quant.yaml": "extends: trader\n",
            "x.yaml": "{}",
        },
    )

    pack = opened(source, project)
    install(pack, project / ".podium")

    record = json.loads((project / ".podium/roles/installed.json").read_text("utf-8"))
    (entry,) = record["packs"]
    assert (entry["name"], entry["version"], entry["commit"]) == ("trading", "1.2", None)
    assert set(entry["roles"]) == {"trader", "quant"}
    assert entry["requires"] == {
        "implementer": "podium/roles/implementer.yaml",
        "planner": "podium/roles/planner.yaml",
    }
    assert pack.roles[1].commands == ("make risk",)
    assert (project / ".podium/roles/trader.yaml").read_text("utf-8") == TRADER
    assert not (project / ".podium/roles/x.yaml").exists()


@pytest.mark.req("R236")
def test_a_repository_is_read_at_a_branch_without_a_checkout(tmp_path: Path, project: Path) -> None:
    source = pack_in(tmp_path, {"trader.yaml": TRADER, "notes/other.yaml": "{}"})
    folder = Path(source)
    (folder / "linked.yaml").symlink_to("/etc/passwd")
    git(folder, "init", "--quiet")
    git(folder, "checkout", "--quiet", "-b", "stable")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=roles")
    commit = git(folder, "rev-parse", "HEAD")

    pack = opened(f"file://{folder}#stable", project)

    assert pack.commit == commit
    assert [role.name for role in pack.roles] == ["trader"]


def test_installing_again_replaces_the_record_of_the_pack(tmp_path: Path, project: Path) -> None:
    file = tmp_path / "trader.yaml"
    file.write_text(TRADER, "utf-8")
    install(opened(str(file), project), project / ".podium")
    install(opened(str(file), project), project / ".podium")
    file.write_text("extends: implementer\n", "utf-8")

    with pytest.raises(ConfigurationError, match="other roles of these names: trader"):
        opened(str(file), project)
    install(opened(str(file), project, replace=True), project / ".podium")

    record = json.loads((project / ".podium/roles/installed.json").read_text("utf-8"))
    assert [pack["name"] for pack in record["packs"]] == ["trader"]
    assert (project / ".podium/roles/trader.yaml").read_text("utf-8") == "extends: implementer\n"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"mine.yaml": "extends: nobody\n"}, "needs roles that are not there: nobody"),
        ({"mine.yaml": "gates: [{review: judge}]\n"}, "not there: judge"),
        ({"pack.yaml": "requires: [far]\n", "mine.yaml": "{}\n"}, "not there: far"),
        ({"mine.yaml": "systm: x\n"}, 'mine.yaml:1:1: the role has an unknown key "systm"'),
        ({"mine.yaml": "- x\n"}, "the file must be a map"),
        ({"my-role.yaml": "{}\n"}, '"my-role" is not a name'),
        ({"mine.yaml": "system: prompts/x.md\n"}, "a pack cannot bring along"),
        ({"pack.yaml": "version: 1\n", "mine.yaml": "{}\n"}, '"version" must be text'),
        ({"pack.yaml": "colour: red\n", "mine.yaml": "{}\n"}, "pack.yaml is not a map of name"),
        ({"README.md": "nothing\n"}, "has no roles"),
    ],
)
def test_a_pack_that_cannot_work_is_refused_before_anything_is_written(
    tmp_path: Path, project: Path, files: dict[str, str], told: str
) -> None:
    source = pack_in(tmp_path, files)

    with pytest.raises(ConfigurationError) as caught:
        opened(source, project)

    assert told in caught.value.message
    assert not (project / ".podium/roles").exists()


def test_what_is_neither_a_file_nor_an_address_is_refused(project: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        opened("--upload-pack=evil", project)
    with pytest.raises(ConfigurationError, match="does not exist"):
        opened("ext::sh -c evil", project)
