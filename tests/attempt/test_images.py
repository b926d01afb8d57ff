"""Images among the files of `context` go to agents that take images, and to no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.command.agent import Command
from podium.attempt.prompt.images import MAX_IMAGE_BYTES, MAX_IMAGES, images_among
from podium.attempt.prompt.tree_files import TreeFiles
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, ImageInput, ProgramSpec
from tests.attempt.agent_attempts import Asked
from tests.attempt.runs import bench
from tests.git.kit import Project, new_project
from tests.installed import PLAIN, agent

PNG = b"\x89PNG\r\n\x1a\n\0-4711"
KINDS = {
    "a.png": (PNG, "image/png"),
    "b.JPG": (b"\xff\xd8\xff\0", "image/jpeg"),
    "c.gif": (b"GIF89a\0", "image/gif"),
    "d.webp": (b"RIFF\0\0\0\0WEBP", "image/webp"),
    "e.png": (b"no image at all", None),
    "f.txt": (PNG, None),
}
FLOW = """\
agents: {w: {type: looker, command: [cat]}}
steps:
  it: {agent: w, prompt: Paint, touches: [], context: {include: ["docs/**"], exclude: ["docs/old*"]}}
"""


class Looker(Command):
    """Remembers the requests."""

    def __init__(self) -> None:
        self.requests: list[AgentRequest] = []

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, Any]:
        self.requests.append(request)
        return super().prepare(request)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = new_project(tmp_path / "project", {"docs/plan.md": "Two coats\n"})
    made.commit({"docs/shed.png": PNG, "docs/old.png": PNG})
    return made


@pytest.mark.parametrize("takes_images", [True, False])
def test_only_an_agent_that_takes_images_gets_those_of_its_context(
    project: Project, tmp_path: Path, takes_images: bool
) -> None:
    looker = Looker()
    keys = {"command": agent("command", looker).type.capabilities.keys["command"]}
    installed = agent("looker", looker, capabilities=replace(PLAIN, images=takes_images, keys=keys))
    made = bench(project, tmp_path, FLOW).given(agents={"looker": installed})
    Asked(made.workflow, made.host, made.root).play()

    (request,) = looker.requests
    assert "Two coats" in request.prompt
    if takes_images:
        assert request.images == (ImageInput("docs/shed.png", "image/png", PNG),)
        assert "docs/shed.png:\n(attached as an image)" in request.prompt
    else:
        assert request.images == ()
        assert "not text: docs/shed.png" in request.prompt


def folder_files(folder: Path) -> TreeFiles:
    return TreeFiles({path.name: "" for path in folder.iterdir()}, None, folder)


def test_the_first_bytes_decide_what_an_image_is(tmp_path: Path) -> None:
    for name, (content, _) in KINDS.items():
        (tmp_path / name).write_bytes(content)

    images = images_among(folder_files(tmp_path), sorted(KINDS))
    assert {image.path: image.media_type for image in images} == {
        name: kind for name, (_, kind) in KINDS.items() if kind is not None
    }


def test_too_many_and_too_large_images_are_errors(tmp_path: Path) -> None:
    names = [f"{number}.png" for number in range(MAX_IMAGES + 1)]
    for name in names:
        (tmp_path / name).write_bytes(PNG)
    with pytest.raises(ConfigurationError, match="context names 21 images"):
        images_among(folder_files(tmp_path), names)
    (tmp_path / "0.png").write_bytes(PNG + b"x" * MAX_IMAGE_BYTES)
    with pytest.raises(ConfigurationError, match="an image may have"):
        images_among(folder_files(tmp_path), names[:1])
