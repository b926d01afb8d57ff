"""An agent that speaks the Agent Client Protocol, in bubblewrap, as a program outside of PATH."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from podium.adapters.sandboxes.bubblewrap_probe import probe
from tests.adapters.test_acp_agent import STAND_IN
from tests.e2e.kit import closing, new_project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(probe() is not None, reason="bubblewrap does not work here"),
]
FLOW = """\
podium: 1
name: paint
limits: {{unknown_cost: count_tokens}}
agents: {{own: {{type: acp, command: [{program}, well]}}}}
steps: {{paint: {{agent: own, prompt: Paint shed 7391, touches: []}}}}
"""


@pytest.fixture
def program() -> Iterator[Path]:
    """Not below /dev, where temporary files of tests may be: a sandbox has its own."""
    with TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder) / "agent"
        path.write_text(f"#!{sys.executable}\n" + STAND_IN.read_text("utf-8"), "utf-8")
        path.chmod(0o755)
        Path(folder).chmod(0o755)
        yield path


def test_an_acp_agent_outside_of_path_works_in_the_sandbox(tmp_path: Path, program: Path) -> None:
    flow = FLOW.format(program=program)
    with closing(new_project(tmp_path / "place", {"flow.yaml": flow})) as project:
        done = project.podium("run", "flow.yaml", "--yes", "--no-human", "--sandbox", "bubblewrap", "--json")

        ended = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
        assert [(event["kind"], event["result"]["sandbox"]) for event in ended] == [("ok", "bubblewrap")], (
            done.err
        )
