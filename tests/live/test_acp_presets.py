"""Agents that speak the Agent Client Protocol and need only be named, in bubblewrap, against the model server (issue 17, 6)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from podium.testing.models.server import ModelServer, Rule, Tokens
from tests.e2e.kit import Project, closing, new_project
from tests.live.kit import patch
from tests.live.sandbox_kit import needs_bubblewrap

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

INSTALLED = Path(__file__).parents[2] / ".venv-live/acp/node_modules/.bin"
KEY = "dummy-key-4715-of-nobody"
FLOW = """\
podium: 1
name: shed
limits: {{unknown_cost: count_tokens}}
agents: {{{type}: {{command: {program}, base_url: "{url}"}}}}
steps:
  paint: {{agent: {type}, prompt: "Paint shed 7391", touches: ["*.txt"], retry: none}}
  look: {{run: [grep, -q, blue, shed.txt]}}
"""


@dataclass(frozen=True, slots=True)
class Preset:
    type: str
    program: str
    key: str
    path: str
    """Of its API, below the address of the server."""
    tool: str
    """Its tool that writes a file, and the argument that names the file; empty for a patch."""
    argument: str = "file_path"
    calls: int = 2
    """One that asks for the tool, and one for the answer."""
    cost: float | None = None


ANTHROPIC = ("ANTHROPIC_API_KEY", "")
OPENAI = ("OPENAI_API_KEY", "/v1")
PRESETS = (
    Preset("opencode", "opencode", *ANTHROPIC, "write", "filePath", cost=0.0012),
    Preset("qwen_code", "qwen", *OPENAI, "write_file"),
    # It also asks for a title, whose cost it reports.
    Preset("claude_agent_acp", "claude-agent-acp", *ANTHROPIC, "Write", calls=3, cost=0.0018),
    Preset("codex_acp", "codex-acp", *OPENAI, "", cost=0.0022),
)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.type)
def test_a_named_agent_changes_files_and_its_key_stays_with_the_broker(
    preset: Preset, tmp_path: Path
) -> None:
    needs_bubblewrap()
    program = shutil.which(preset.program, path=str(INSTALLED))
    if program is None:
        pytest.skip(f"{preset.program} is not installed; make live does it")
    with (
        closing(new_project(tmp_path / "place", {})) as project,
        ModelServer(painting(preset, project)) as server,
    ):
        flow = FLOW.format(type=preset.type, program=program, url=f"{server.url}{preset.path}")
        project.commit({"flow.yaml": flow}, "flow")
        project.env[preset.key] = KEY

        done = project.podium("run", "flow.yaml", "--no-human", "--sandbox", "bubblewrap", timeout_s=300)

        assert done.code == 0, done.err
        (end, _) = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
        written = b"".join(
            path.read_bytes() for path in (project.root / ".podium").rglob("*") if path.is_file()
        )
        assert [*project.marked(), *project.inhabitants(), *project.leftovers()] == []
    calls = [call for call in server.requests if call.method == "POST"]
    sent = {call.headers.get("x-api-key") or call.headers.get("authorization") for call in calls}
    assert all(value and value.endswith(f"***{KEY[-4:]}") for value in sent)
    assert KEY.encode() not in written
    assert (end["result"]["files"], end["result"]["text"]) == (["shed.txt"], "painted")
    # Some of these programs ask for a title of the conversation as well, if they get to it before they end.
    assert preset.calls <= len(calls) <= preset.calls + 1
    if preset.cost is None:
        assert not end["cost_known"]
    else:
        least, most = preset.cost * 1e6, preset.cost * 1e6 * len(calls) / preset.calls
        assert least - 1 <= end["used"]["usd"] <= most + 1


def painting(preset: Preset, project: Project) -> Rule:
    tool = patch("shed.txt", "blue")
    if preset.tool:
        tool = (preset.tool, {preset.argument: str(project.root / "shed.txt"), "content": "blue\n"})
    return Rule(match="shed 7391", tools=[tool], text="painted", usage=Tokens(100, 20))
