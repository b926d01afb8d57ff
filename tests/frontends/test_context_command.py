"""`podium context`: what a step would be given, what a run gave it, and the difference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from podium.frontends.cli.main import podium
from tests.git.kit import git, put
from tests.repositories import make_repository

FLOW = """\
podium: 1
name: flow
inputs: {target: {type: path, default: src/shop.py}}
agents:
  local: {type: ollama, model: tiny, context_window: 32k, price: {input: 0, output: 0, date: "2026-01-01"}}
  w: {type: scripted}
steps:
  implement: {agent: w, prompt: Make charge_card quicker, context: {strategy: implementer_targeted, budget: 8k}}
  think: {agent: local, prompt: Look at charge_card, touches: [], context: {strategy: implementer_targeted}}
  plain: {agent: w, prompt: Do it}
"""
FILES = {
    "flow.yaml": FLOW,
    "src/shop.py": "from src.cards import charge_card\n\n\ndef buy() -> None:\n    charge_card(1)\n",
    "src/cards.py": "def charge_card(amount: int) -> int:\n    fee = amount * 2\n    total = amount + fee\n    return total\n",
    "tests/test_shop.py": "from src.shop import buy\n",
}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    make_repository(folder)
    put(folder, FILES)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "shop")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def call(*args: str) -> Result:
    return CliRunner().invoke(podium, args)


def document(*args: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(call(*args, "--json").stdout)
    return result


def test_each_part_is_listed_with_its_files_and_reasons(root: Path) -> None:
    text = call("context", "flow.yaml", "implement").stdout

    assert "implement attempt 1: by w (reads files itself), depth minimal," in text
    assert "src/shop.py (whole: target)" in text
    assert "src/cards.py (named: " in text and "has charge_card" in text
    assert "of 8,000 tokens, counted by words" in text
    assert "flow.yaml" not in text
    assert not git(root, "status", "--porcelain")


@pytest.mark.req("R083")
def test_a_text_agent_gets_more_than_an_explorer() -> None:
    minimal, balanced = (
        document("context", "flow.yaml", "implement"),
        document("context", "flow.yaml", "think"),
    )

    assert (minimal["depth"], balanced["depth"]) == ("minimal", "balanced")
    assert ("src/cards.py", "whole") in {(entry["path"], entry["form"]) for entry in balanced["parts"]}
    assert ("src/cards.py", "named") in {(entry["path"], entry["form"]) for entry in minimal["parts"]}
    deeper = document("context", "flow.yaml", "implement", "--depth", "balanced", "--budget", "20k")
    assert (deeper["depth"], deeper["budget"]) == ("balanced", 20_000)


def test_the_text_is_what_the_prompt_of_a_run_has(root: Path) -> None:
    text = call("context", "flow.yaml", "implement", "--text").stdout.strip()
    # `plain` has no cast for its agent, so only the first step matters here.
    call("run", "flow.yaml", "--sandbox", "none", "--yes")
    prompt = call("prompt", "latest", "implement").stdout

    assert text.startswith("## Files") and "charge_card(1)" in text
    assert text in prompt


def test_a_run_shows_what_it_packed_and_how_that_differs_from_the_file(root: Path) -> None:
    call("run", "flow.yaml", "--sandbox", "none", "--yes")
    packed = document("context", "latest", "implement")

    assert packed["run"] and packed["hash"] == document("context", "flow.yaml", "implement")["hash"]
    same = call("context", "flow.yaml", "implement", "--against", "latest").stdout
    assert "no differences" in same and "same bytes" in same
    assert document("context", "flow.yaml", "implement", "--run", "latest") == packed

    put(root, {"src/shop.py": "def buy() -> None:\n    pass\n"})
    git(root, "commit", "-qam", "later")
    differences = document("context", "flow.yaml", "implement", "--against", "latest")["against"][
        "differences"
    ]
    assert "src/shop.py" in {entry["path"] for entry in differences}


def test_what_does_not_fit_is_listed(root: Path) -> None:
    result = call("context", "flow.yaml", "implement", "--budget", "60", "--left-out")

    assert "left out: " in result.stdout or "cut" in result.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("flow.yaml", "plain"), '"plain" packs no files'),
        (("flow.yaml", "nothing"), 'no agent is asked at "nothing"'),
        (("flow.yaml", "implement", "--budget", "many"), "--budget"),
        (("flow.yaml", "implement", "--run", "latest", "--depth", "full"), "a run has its own inputs"),
    ],
)
def test_a_mistake_is_reported_with_the_next_step(args: tuple[str, ...], message: str) -> None:
    result = call("context", *args)

    assert result.exit_code in (1, 2)  # The command's own errors become 2 in `main`.
    assert message in result.output + str(result.exception)


def test_facts_follow_the_content_of_a_file_and_not_its_path(root: Path) -> None:
    assert "has charge_card" in call("context", "flow.yaml", "implement").stdout

    put(root, {"src/cards.py": "def pay_by_card() -> None:\n    pass\n"})
    git(root, "commit", "-qam", "renamed")

    text = call("context", "flow.yaml", "implement").stdout
    assert "has pay_by_card" in text and "has charge_card" not in text
