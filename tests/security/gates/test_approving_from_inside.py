"""From inside a step nothing can approve, answer, resume, apply or start, at any level of the sandbox."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.core.expressions.values import plain_json
from tests.e2e.kit import Project, closing, new_project

pytestmark = [pytest.mark.security, pytest.mark.timeout(300)]

FLOW = """\
podium: 1
name: t
agents:
  sh: {type: command, command: [sh, tries.sh], step_tools: true}
steps:
  allow: {human: "May it land?", needs: []}
  work: {agent: sh, prompt: try, needs: [], team: {owner: {agent: human}}, retry: 1}
  land: {git: {land: main, message: done}, needs: [allow, work]}
"""

TRIES = """\
cat > /dev/null
cd {root}
export PYTHONPATH={path}
echo 1; {podium} approve
echo 2; env -u PODIUM_MARKER {podium} approve
echo 3; env -i PATH=/usr/bin:/bin HOME="$HOME" PYTHONPATH={path} {podium} answer allow yes
echo 4; env -u PODIUM_MARKER {podium} resume --yes
echo 5; {podium} apply
echo 6; {podium} run flow.yaml --yes
echo 7; podium-step approve; podium-step ask allow approve
echo 8; python3 - <<'X'
import json, os, urllib.request
for name in ("approve", "answer", "resume", "apply", "start", "run"):
    for path in ("/mcp", "/approve", "/refused"):
        body = {{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": name, "arguments": {{}}}}}}
        url = os.environ["PODIUM_TOOLS"].replace("/mcp", path)
        request = urllib.request.Request(url, json.dumps(body).encode())
        request.add_header("Authorization", "Bearer " + os.environ["PODIUM_TOOLS_TOKEN"])
        try:
            print(name, path, urllib.request.urlopen(request, timeout=10).read()[:200])
        except Exception as error:
            print(name, path, error)
X
echo 9; mkdir -p inbox agents/owner/inbox; echo approve > inbox/allow.md; echo approve > agents/owner/inbox/allow.md
true
"""


@pytest.fixture(params=["none", "limits", "bubblewrap"])
def level(request: pytest.FixtureRequest) -> str:
    level: str = request.param
    return level


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = new_project(tmp_path / "p", {})
    path = os.pathsep.join(entry for entry in sys.path if entry)
    python = sys.executable
    script = TRIES.format(root=project.root, path=path, podium=f"{python} -m podium")
    project.commit({"flow.yaml": FLOW, "tries.sh": script})
    with closing(project) as own:
        yield own


def test_eight_ways_to_approve_from_inside_a_step_are_refused_and_recorded(
    project: Project, level: str
) -> None:
    before = project.git("rev-parse", "main")
    ended = project.podium("run", "flow.yaml", "--yes", "--sandbox", level, timeout_s=120)

    assert ended.code == 6, ended.out + ended.err
    view = json.loads(project.podium("show", "--json").out)
    waiting = [step["path"] for step in view["steps"] if step["status"] == "waiting"]
    assert waiting == ["allow"], plain_json(view["steps"])
    assert project.git("rev-parse", "main") == before
    assert len(json.loads(project.podium("runs", "--json").out)) == 1
    folder = project.root / ".podium/runs" / project.run_id()
    journal = (folder / "agent_logs/work/1/tools.jsonl").read_text()
    assert '"tool": "approve"' in journal and '"refused"' in journal
    tried = folder / "refused.jsonl"
    if level == "bubblewrap":
        assert not tried.exists(), "the project is not even visible"
        return
    words = {json.loads(line)["tried"] for line in tried.read_text().splitlines()}
    printed = (folder / "agent_logs/work/1/stderr.log").read_text()
    assert {"approve", "drive a run", "start a run"} <= words, printed
