"""What a program of an agent reaches of the pages from inside each sandbox (R219)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.browser.site import FILES, Site, pages_of

LOOK = """\
import json, pathlib, sys, urllib.error, urllib.request
port, file = sys.argv[1:]
try:
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/runs"), timeout=5)
    answer = 200
except urllib.error.HTTPError as error:
    answer = error.code
except OSError:
    answer = 0
print(json.dumps({"answer": answer, "file": pathlib.Path(file).exists()}))
"""
FLOW = """\
podium: 1
name: reach
inputs: {task: string, port: string, file: string}
steps:
  look: {run: [python3, look.py, "${{ inputs.port }}", "${{ inputs.file }}"]}
outputs: {seen: "${{ steps.look.output }}"}
"""


def _seen_from(tmp_path: Path, level: str) -> dict[str, Any]:
    site = Site(tmp_path, {**FILES, "look.py": LOOK, "reach.yaml": FLOW})
    with pages_of(site) as pages:
        file = site.home / ".local/state/podium/web" / f"{pages.port}.json"
        assert file.exists()
        assert file.stat().st_mode & 0o077 == 0
        inputs = [f"task={level}", f"port={pages.port}", f"file={file}"]
        options = [word for each in inputs for word in ("-i", each)]
        run = json.loads(site.podium("run", "reach.yaml", *options, "--sandbox", level, "--json"))
    step = next(each for each in run["steps"] if each["step"] == "look")
    seen: dict[str, Any] = json.loads(step["output"]) if isinstance(step["output"], str) else step["output"]
    return seen


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_from_a_sandbox_with_its_own_network_neither_the_server_nor_its_key_is_there(tmp_path: Path) -> None:
    assert _seen_from(tmp_path, "bubblewrap") == {"answer": 0, "file": False}


@pytest.mark.slow
@pytest.mark.parametrize("level", ["limits", "none"])
def test_where_the_network_is_open_the_server_answers_nobody_without_its_key(
    tmp_path: Path, level: str
) -> None:
    assert _seen_from(tmp_path, level)["answer"] == 401
