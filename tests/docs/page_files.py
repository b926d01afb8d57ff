"""Reads the YAML blocks of a page as what they are: workflows, pieces of one, casts, roles, configurations, features."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from podium.adapters.agents.registry import agent_types
from podium.app.author.role_packs import MANIFEST, read_manifest
from podium.errors import ConfigurationError
from podium.workflow.dialects.detect import translate
from podium.workflow.load import load
from podium.workflow.schema.fields import known_keys
from podium.workflow.schema.file import Config, File, Role
from podium.workflow.schema.reader import read
from podium.workflow.schema.step import Feature
from podium.workflow.scripted.cast import read_cast
from podium.workflow.scripted.test_file import SUFFIX, read_tests
from podium.workflow.source import yaml
from podium.workflow.source.files import read_tree
from podium.workflow.source.nodes import fields
from tools.pages.markdown import Fenced, fenced
from tools.pages.stage import file_of, put, stage

ROOT: Final = Path(__file__).parents[2]
FRAGMENT: Final = "# fragment"
BROKEN: Final = "# broken"
NEIGHBOUR: Final = re.compile(r"[.][.]/([a-z]+)")
LONE: Final = "block.yaml"
"""What a block that does not say its name is called while it is read."""


def faults_of_page(text: str) -> Iterator[str]:
    """What is wrong with the YAML blocks of a page, and which broken ones are not broken."""
    with stage(ROOT) as folder:
        for block in fenced(text):
            put(block, folder)
            if block.language != "yaml":
                continue
            faults = list(_faults(block, folder))
            if block.first.startswith(BROKEN):
                faults = [] if faults else ["it is marked as broken and loads"]
            yield from (f"line {block.line}: {fault}" for fault in faults)


def _faults(block: Fenced, folder: Path) -> Iterator[str]:
    name = file_of(block) or LONE
    if block.first == FRAGMENT:
        (folder / LONE).write_text(json.dumps(whole(_with_neighbours(block.text, folder))), "utf-8")
    elif name == LONE:
        (folder / LONE).write_text(block.text, "utf-8")
    if name == MANIFEST:
        read_manifest({name: block.text.encode()})
        return
    foreign = _foreign(folder / name)
    if foreign is not None:
        yield from foreign
        return
    value = yaml.load(block.text, name=name).value
    if "suite" in value:
        # Its cases are folders, which a page cannot show.
        return
    if name.endswith(SUFFIX):
        yield from _told(read_tests, folder / name)
    elif block.first == FRAGMENT or "podium" in value:
        yield from (problem.render() for problem in load(Path(name), agent_types=agent_types()).errors)
    elif isinstance(value, list) or "rules" in value:
        yield from _told(read_cast, folder / name)
    else:
        model = Role if name.startswith(".podium/roles/") else Feature if "phases" in value else Config
        yield from (fault.message for fault in read(model, value).faults)


def _with_neighbours(text: str, folder: Path) -> str:
    """With the repositories that it names beside this one below the folder; they have the same files."""
    if "workflow: {file: " not in text:
        return text
    for name in set(NEIGHBOUR.findall(text)):
        (folder / "others" / name / ".git").mkdir(parents=True, exist_ok=True)
        for file in folder.glob("*.yaml"):
            shutil.copy(file, folder / "others" / name)
    return text.replace("../", "others/")


def _foreign(path: Path) -> list[str] | None:
    """The faults of a file in another format; None for a native one."""
    node = read_tree(path, None).node
    done = None if node is None or "podium" in fields(node) else translate(node)
    if done is None:
        return None
    problems = (
        load(path, agent_types=agent_types()).errors if done.kind == "workflow" else done.translation.problems
    )
    return [problem.render() for problem in problems]


def _told(read_it: Callable[[Path], object], path: Path) -> Iterator[str]:
    try:
        read_it(path)
    except ConfigurationError as error:
        yield error.message


def whole(text: str) -> Mapping[str, Any]:
    """A piece of a workflow as a workflow: top-level keys, or the steps of its block."""
    piece = yaml.load(text, name=LONE).value
    around = {"podium": 1, "name": "piece", "inputs": {"task": "string"}}
    if set(piece) <= set(known_keys(File)):
        return {**around, "steps": {"only": {"check": "true"}}, **piece}
    return {**around, "steps": piece}
