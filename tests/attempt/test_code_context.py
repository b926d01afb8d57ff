"""What `$TARGET` and the other words of `context` put into real prompts, and the record that is kept of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.git.repository import find
from tests.attempt import agent_attempts
from tests.attempt.agent_attempts import Asked
from tests.attempt.runs import Played
from tests.git.kit import Project, git, put

BASE = "from typing import Protocol\n\n\nclass Port(Protocol):\n    def run(self) -> int: ...\n"
TARGET = "from src.base import Port\nfrom src.helper import help_me\n\n\ndef charge(port: Port) -> int:\n    return help_me(port.run())\n"
HELPER = "def help_me(value: int) -> int:\n    doubled_value = value * 2\n    more_of_it = doubled_value + 1\n    return more_of_it\n"
FILES = {
    "src/__init__.py": "",
    "src/base.py": BASE,
    "src/target.py": TARGET,
    "src/helper.py": HELPER,
    "src/user.py": "from src.target import charge\n\n\ndef bill() -> None:\n    charge(None)\n",
    "src/refunds.py": "def refund_everything() -> None:\n    print('refund')\n",
    "tests/test_target.py": "from src.target import charge\n\n\ndef test_it() -> None:\n    assert charge\n",
    "docs/billing.md": "how billing works\n",
    "package-lock.json": "{}\n",
}


def ask(
    project: Project | Path, folder: Path, flow: str, target: str = "src/target.py"
) -> tuple[Asked, Played]:
    has_input = "inputs:" in flow
    return agent_attempts.ask(project, folder, flow, inputs={"target": target} if has_input else None)


def commit(project: Project, files: dict[str, str], message: str = "more") -> None:
    put(project.root, files)
    git(project.root, "add", ".")
    git(project.root, "commit", "-qm", message)


@pytest.fixture
def shop(project: Project) -> Project:
    commit(project, FILES)
    for number in range(3):
        text = f"{TARGET}# {number}\n"
        commit(project, {"src/target.py": text, "docs/billing.md": f"how billing works {number}\n"})
    return project


def manifest(asked: Asked, step: str = "it") -> dict[str, Any]:
    record: dict[str, Any] = json.loads(asked.log(step, 1, "context.json"))
    return record


def parts(record: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    rows: dict[str, list[tuple[str, str]]] = {}
    for entry in record["parts"]:
        rows.setdefault(entry["part"], []).append((entry["path"], entry["form"]))
    return rows


FLOW = """
    inputs: {target: {type: path, default: src/target.py}}
    steps:
      it:
        agent: w
        prompt: Make refund_everything work
        context: {strategy: implementer_targeted, DEPTH budget: 20k}
"""


@pytest.mark.req("R084", "R085", "R087")
def test_an_agent_with_a_workspace_gets_its_target_and_places_to_look(shop: Project, tmp_path: Path) -> None:
    asked, played = ask(shop, tmp_path, FLOW.replace("DEPTH ", ""))

    record, prompt = manifest(asked), asked.log("it", 1, "prompt.md")
    rows = parts(record)
    assert record["depth"] == "minimal" and record["counter"] == "words"
    assert rows["target"] == [("src/target.py", "whole")]
    assert rows["interfaces"] == [("src/base.py", "whole")]
    assert "imports" not in rows and "related" not in rows
    places = [path for path, form in rows["likely"] if form == "named"]
    assert {"src/refunds.py", "src/user.py", "tests/test_target.py", "docs/billing.md"} <= set(places)
    assert "package-lock.json" not in prompt
    assert "- docs/billing.md (changed with target 4 times" in prompt
    assert "- src/refunds.py (task says refund_everything" in prompt and "has refund_everything" in prompt
    assert "imports target" in prompt and "doubled_value" not in prompt
    assert record["tokens"] == sum(entry["tokens"] for entry in record["parts"])
    result = played.answer("it").result
    assert result is not None and result["packed"] == {"hash": record["hash"], "tokens": record["tokens"]}


@pytest.mark.req("R085", "R086")
def test_a_balanced_pack_has_related_files_whole(shop: Project, tmp_path: Path) -> None:
    asked, _ = ask(shop, tmp_path, FLOW.replace("DEPTH", "depth: balanced,"))

    rows, prompt = parts(manifest(asked)), asked.log("it", 1, "prompt.md")
    # It is imported, but ranks among the first as well, so it is more than its signatures.
    assert ("src/helper.py", "whole") in rows["related"]
    assert ("docs/billing.md", "whole") in rows["related"]
    assert rows["tree"]
    assert "doubled_value" in prompt and "how billing works 2" in prompt


def test_the_same_run_packs_the_same_bytes(shop: Project, tmp_path: Path) -> None:
    hashes = [
        manifest(ask(shop, tmp_path / name, FLOW.replace("DEPTH ", ""))[0])["hash"] for name in ("a", "b")
    ]

    assert hashes[0] == hashes[1]


def test_commits_after_the_start_of_the_run_are_not_looked_at(shop: Project, tmp_path: Path) -> None:
    """A run that is compared with what people did later must not learn from it."""
    base = git(shop.root, "rev-parse", "HEAD")
    for number in range(5):
        commit(shop, {"src/target.py": f"{TARGET}# later {number}\n", "src/refunds.py": f"# {number}\n"})
    git(shop.root, "checkout", "-q", base)
    asked, _ = ask(shop, tmp_path, FLOW.replace("DEPTH ", ""))

    reasons = {entry["path"]: entry["reason"] for entry in manifest(asked)["parts"]}
    assert "changed with target 1 time;" in reasons["src/refunds.py"]


def test_exclude_applies_to_everything_that_is_packed_unasked(shop: Project, tmp_path: Path) -> None:
    flow = FLOW.replace("DEPTH", 'depth: full, exclude: ["docs/**", src/helper.py],')
    asked, _ = ask(shop, tmp_path, flow)

    assert not {"docs/billing.md", "src/helper.py"} & {entry["path"] for entry in manifest(asked)["parts"]}


@pytest.mark.req("R125", "C37")
def test_internals_are_shown_by_their_public_interface_only(shop: Project, tmp_path: Path) -> None:
    flow = """
        inputs: {target: {type: path, default: src/helper.py}}
        steps:
          it:
            agent: w
            prompt: Write tests for help_me
            touches: ["tests/**"]
            context: {include: [$INTERFACES, $PUBLIC_API, "src/*.py"], exclude: [$INTERNALS]}
    """
    asked, _ = ask(shop, tmp_path, flow, "src/helper.py")

    rows, prompt = parts(manifest(asked)), asked.log("it", 1, "prompt.md")
    assert ("src/helper.py", "public") in [*rows.get("public_api", ()), *rows["include"]]
    assert "def help_me(value: int) -> int:" in prompt and "doubled_value" not in prompt


def test_without_a_target_the_words_of_the_task_decide(shop: Project, tmp_path: Path) -> None:
    flow = (
        "steps: {it: {agent: w, prompt: Look at refund_everything, context: {strategy: investigator_wide}}}"
    )
    asked, _ = ask(shop, tmp_path, flow)

    record = manifest(asked)
    assert next(entry["path"] for entry in record["parts"] if entry["part"] == "related") == "src/refunds.py"
    assert any("no target" in note for note in record["notes"])


def test_touches_are_the_target_if_nothing_else_is(shop: Project, tmp_path: Path) -> None:
    flow = "steps: {it: {agent: w, prompt: Do it, touches: [src/helper.py], no_change: pass, context: [$TARGET]}}"
    asked, _ = ask(shop, tmp_path, flow)

    assert parts(manifest(asked))["target"] == [("src/helper.py", "whole")]


def test_outside_of_git_it_packs_with_a_note(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    put(folder, {**FILES, "node_modules/x/refund.js": "refund_everything\n"})
    asked, _ = ask(folder, tmp_path, FLOW.replace("DEPTH ", ""))

    record = manifest(asked)
    assert parts(record)["target"] == [("src/target.py", "whole")]
    assert "no history: not a git repository" in record["notes"]
    assert not any("node_modules" in entry["path"] for entry in record["parts"])


def test_a_shallow_clone_packs_with_a_note(shop: Project, tmp_path: Path) -> None:
    clone = tmp_path / "shallow"
    git(shop.root, "clone", "-q", "--depth", "1", f"file://{shop.root}", str(clone))
    repository = find(clone, tmp_path / "trees")
    assert repository is not None
    asked, _ = ask(Project(repository, tmp_path / "spare"), tmp_path, FLOW.replace("DEPTH ", ""))

    record = manifest(asked)
    assert parts(record)["target"] == [("src/target.py", "whole")]
    assert "little history: a shallow clone with 1 commits" in record["notes"]


def test_a_link_is_not_followed_and_a_file_of_secrets_is_not_packed(shop: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("refund_everything = 'from outside'\n")
    (shop.root / "src/link.py").symlink_to(outside)
    commit(shop, {".env": "refund_everything=value_of_a_secret\n", "deep/key.pem": "refund_everything\n"})
    asked, _ = ask(shop, tmp_path, FLOW.replace("DEPTH", 'depth: full, include: [".env", "src/link.py"],'))

    prompt = asked.log("it", 1, "prompt.md")
    assert "from outside" not in prompt and "value_of_a_secret" not in prompt and "key.pem" not in prompt


def test_hostile_files_of_an_earlier_step_do_not_stop_the_pack(shop: Project, tmp_path: Path) -> None:
    commit(
        shop, {"src/deep.py": "x = " + "-" * 200_000 + "1\n", "src/broken.py": "def refund_everything(:\n"}
    )
    asked, _ = ask(shop, tmp_path, FLOW.replace("DEPTH ", ""))

    assert "src/broken.py" in {entry["path"] for entry in manifest(asked)["parts"]}


def test_a_step_without_context_has_nothing_about_files_in_its_prompt(shop: Project, tmp_path: Path) -> None:
    asked, _ = ask(shop, tmp_path, "steps: {it: {agent: w, prompt: Make refund_everything work}}")

    assert "## Files" not in asked.log("it", 1, "prompt.md")
    assert not (asked.host.log_dir("it", 1) / "context.json").exists()


def test_notes_are_for_people_and_not_in_the_prompt(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    put(folder, FILES)
    asked, _ = ask(folder, tmp_path, FLOW.replace("DEPTH ", ""))

    assert manifest(asked)["notes"] and "no history" not in asked.log("it", 1, "prompt.md")
