"""What a program of an agent reaches of the pages from inside each sandbox: the port, the socket, and the file with the key."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.site import FILES, Site, pages_of
from tests.security.containers import PYTHON_IMAGE, made_python_image

LOOK = """\
import json, pathlib, socket, sys
port, file, place = sys.argv[1:]

def reach(family, address):
    try:
        with socket.socket(family) as there:
            there.settimeout(5)
            there.connect(address)
            there.sendall(b"GET /runs HTTP/1.1\\r\\nHost: localhost:" + port.encode() + b"\\r\\nX-User: ada\\r\\n\\r\\n")
            return int(there.recv(64).split()[1])
    except OSError:
        return 0

print(json.dumps({
    "port": reach(socket.AF_INET, ("127.0.0.1", int(port))),
    "port6": reach(socket.AF_INET6, ("::1", int(port))),
    "socket": reach(socket.AF_UNIX, place),
    "file": pathlib.Path(file).exists(),
}))
"""
FLOW = """\
podium: 1
name: reach
sandbox: {level: LEVEL}
inputs: {port: string, file: string, place: string}
steps:
  look: {run: [python3, look.py, "${{ inputs.port }}", "${{ inputs.file }}", "${{ inputs.place }}"]}
"""
NOTHING = {"port": 0, "port6": 0, "socket": 0, "file": False}


@pytest.fixture
def folder() -> Iterator[Path]:
    """On a disk, and with a name that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="podium-reach-") as name:
        yield Path(name)


def _seen_from(folder: Path, level: str, more: str = "") -> dict[str, Any]:
    site = Site(folder, {**FILES, "look.py": LOOK, "reach.yaml": FLOW.replace("LEVEL", level + more)})
    place = folder / "sockets" / "pages"
    with pages_of(site) as pages, pages_of(site, "--socket", str(place)):
        file = site.home / ".local/state/podium/web" / f"{pages.port}.json"
        assert file.stat().st_mode & 0o077 == 0
        assert place.is_socket()
        inputs = [f"port={pages.port}", f"file={file}", f"place={place}"]
        options = [word for each in inputs for word in ("-i", each)]
        run = json.loads(site.podium("run", "reach.yaml", *options, "--sandbox", level, "--json"))
    step = next(each for each in run["steps"] if each["step"] == "look")
    seen: dict[str, Any] = json.loads(step["output"]) if isinstance(step["output"], str) else step["output"]
    return seen


@pytest.mark.req("R219")
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_from_bubblewrap_neither_the_server_nor_its_socket_nor_its_key_is_there(folder: Path) -> None:
    assert _seen_from(folder, "bubblewrap") == NOTHING


@pytest.mark.req("R219")
@pytest.mark.slow
def test_from_a_container_neither_the_server_nor_its_socket_nor_its_key_is_there(folder: Path) -> None:
    if made_python_image() != PYTHON_IMAGE:
        pytest.skip(made_python_image())
    assert _seen_from(folder, "container", f", image: '{PYTHON_IMAGE}'") == NOTHING


@pytest.mark.req("R219")
@pytest.mark.slow
@pytest.mark.parametrize("level", ["limits", "none"])
def test_where_nothing_is_hidden_the_server_answers_nobody_without_its_key(folder: Path, level: str) -> None:
    seen = _seen_from(folder, level)
    assert (seen["port"], seen["socket"]) == (401, 401)
    assert seen["port6"] in (0, 401)  # 0 on a machine without IPv6.
