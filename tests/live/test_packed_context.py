"""The real claude and an agent that answers in text do the same step: each gets its own depth, as its manifest says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.testing.models.server import ModelServer, Rule
from tests.e2e.kit import closing, new_project
from tests.live.programs import found

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

FLOW = """\
podium: 1
name: depths
inputs: {{target: {{type: path, default: src/shop.py}}}}
agents:
  claude: {{type: claude, command: {command}, base_url: "{url}", auth: key}}
  local: {{type: api, base_url: "{url}/v1", model: tiny, price: {{input: 0, output: 0, date: "2026-01-01"}}}}
steps:
  look:
    agent: [claude, local]
    prompt: Explain charge_card
    touches: []
    context: {{strategy: implementer_targeted, budget: 8k}}
"""
FILES = {
    "src/shop.py": "from src.cards import charge_card\n\n\ndef buy() -> None:\n    charge_card(1)\n",
    "src/cards.py": "def charge_card(amount: int) -> int:\n    fee_of_cards = amount * 2\n    total = amount + fee_of_cards\n    return total\n",
}


@pytest.mark.req("R083")
def test_an_explorer_and_a_text_agent_get_different_depths_of_one_step(tmp_path: Path) -> None:
    with ModelServer(Rule(text="It charges a card.")) as server:
        flow = FLOW.format(command=found("claude"), url=server.url)
        project = new_project(
            tmp_path / "p", {**FILES, "flow.yaml": flow}, ANTHROPIC_API_KEY="sk-test-0815-dummy"
        )
        with closing(project):
            ended = project.podium("run", "flow.yaml", "--yes", "--sandbox", "limits", timeout_s=150)
            assert ended.code == 0, ended.out + ended.err
            manifests = {
                name: json.loads(project.podium("context", "latest", f"look/{name}", "--json").out)
                for name in ("claude", "local")
            }
        explorer = json.dumps([one.body for one in server.requests_to("/v1/messages")])
        answered = json.dumps([one.body for one in server.requests_to("/v1/chat/completions")])

    assert [manifests[name]["depth"] for name in ("claude", "local")] == ["minimal", "balanced"]
    assert "Likely places" in explorer and "- src/cards.py (" in explorer
    assert "fee_of_cards" not in explorer and "fee_of_cards" in answered
    for name, wire in (("claude", explorer), ("local", answered)):
        for entry in manifests[name]["parts"]:
            assert entry["part"] == "tree" or entry["path"] in wire, (name, entry)
            assert not entry.get("blob") or entry["form"] == "named" or entry["blob"] in wire
