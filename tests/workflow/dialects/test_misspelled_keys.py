"""No key is dropped silently: the documents' own files with one key misspelled, removed or duplicated (PODIUM_FILES of them)."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from podium.workflow.dialects.detect import TranslatedFile, translate
from podium.workflow.dialects.gates import keys as gates
from podium.workflow.dialects.gates.labels import labels_of
from podium.workflow.dialects.states import keys as states
from podium.workflow.dialects.steps import keys as steps
from podium.workflow.dialects.supervisor import keys as supervisor
from podium.workflow.merge.write_yaml import write_document
from podium.workflow.source.files import read_tree
from podium.workflow.source.nodes import Node
from tests.e2e.gates_files import FILES as GATES
from tests.e2e.gates_larger import LARGER as LARGER_GATES
from tests.e2e.gates_projects import PROJECTS as GATES_PROJECTS
from tests.e2e.supervised_larger import LARGER as SUPERVISED
from tests.e2e.supervised_projects import PROJECTS as SUPERVISED_PROJECTS
from tests.workflow.dialects.blocks import blocks

FILES = int(os.environ.get("PODIUM_FILES", "400"))
LARGER = Path(__file__).parents[2] / "e2e"
SEED = int(os.environ.get("PODIUM_SEED", "1"))
FREE = re.compile(
    r"""
    agents | agents\.[^.]+\.model_tiers(\.[^.]+\.recommended)? | personas | states
    | context | (.+\.)?set_context | (.+\.)?for_each\.items(\.\d+)?
    | (workflow\.)?(steps|overrides) | .*\bconfig | roles | policies | workers | approval_gates
    | .*locked_assignments | cross_project_dependencies
    """,
    re.VERBOSE,
)
"""Places whose keys are names that the author chooses."""
INSIDE_REPORTED = re.compile(r"algorithm\b.* | dependencies\..* | agents\.[^.]+\.session", re.VERBOSE)
"""Places inside a key that is reported as a whole."""

Place = tuple[str | int, ...]


def files_with_one_changed_key() -> Iterator[tuple[str, Any, Place, str]]:
    """Every key of every file that is translated without an error: those of the documents, and larger ones of the same formats."""
    texts = {" ".join(map(str, name)): text for name, text in sorted(blocks().items())}
    texts |= {path.name: path.read_text("utf-8") for path in sorted(LARGER.glob("st*_files/*.yaml"))}
    texts |= {name: made.text for name, made in {**GATES, **LARGER_GATES, **GATES_PROJECTS}.items()}
    texts |= {name: sample.text for name, sample in {**SUPERVISED, **SUPERVISED_PROJECTS}.items()}
    for name, text in texts.items():
        document = read(text)
        done = None if document is None else translated(json.dumps(document))
        if done is not None and all(problem.warning for problem in done.translation.problems):
            for place, key in keys_of(document):
                yield name, document, place, key


def chosen_files() -> list[tuple[str, Any, Place, str]]:
    """Different ones, since the same change has the same result."""
    every = list(files_with_one_changed_key())
    return random.Random(SEED).sample(every, min(FILES, len(every)))


def read(text: str) -> Any:
    node = parse(text)
    return None if node is None else plain(node)


def parse(text: str) -> Node | None:
    """None if the text is not a file without mistakes."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "file.yaml")
        file.write_text(text, "utf-8")
        tree = read_tree(file, file.parent)
        return None if tree.problems else tree.node


def translated(text: str) -> TranslatedFile | None:
    node = parse(text)
    return None if node is None else translate(node)


def plain(node: Node) -> Any:
    if isinstance(node.value, Mapping):
        return {key: plain(value) for key, value in node.value.items()}
    return [plain(item) for item in node.value] if isinstance(node.value, tuple) else node.value


def keys_of(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield place, key
            yield from keys_of(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from keys_of(inner, (*place, index))


def renamed(value: Any, place: Place, key: str, name: str | None) -> Any:
    """The value with one key renamed, or removed if the name is None."""
    if place:
        head, rest = place[0], place[1:]
        if isinstance(value, dict):
            return {
                each: renamed(inner, rest, key, name) if each == head else inner
                for each, inner in value.items()
            }
        return [
            renamed(inner, rest, key, name) if index == head else inner for index, inner in enumerate(value)
        ]
    kept = {(name if each == key else each): inner for each, inner in value.items()}
    return {each: inner for each, inner in kept.items() if each is not None}


def misspelled(key: str, chance: random.Random) -> str:
    position = chance.randrange(len(key))
    return chance.choice(
        [
            key[:position] + key[position + 1 :] + "q",
            key[:position] + "q" + key[position:],
            key + "s_",
            key.upper() + "_",
        ]
    )


@pytest.mark.timeout(1800)
@pytest.mark.slow
def test_a_misspelled_key_is_never_accepted_in_silence() -> None:
    chance = random.Random(SEED)
    every = list(files_with_one_changed_key())
    assert len(every) > 4000
    silent = []
    for name, document, place, key in (chance.choice(every) for _ in range(FILES)):
        where = ".".join(map(str, place))
        wrong = misspelled(key, chance)
        done = translated(json.dumps(renamed(document, place, key, wrong)))
        is_reported = done is None or any(wrong in each.message for each in done.translation.problems)
        is_broken = done is not None and any(not each.warning for each in done.translation.problems)
        if not (is_reported or is_broken or FREE.fullmatch(where) or INSIDE_REPORTED.fullmatch(where)):
            silent.append((name, where, key, wrong))
    assert silent == []


NO_EFFECT = frozenset(
    name
    for register in (states.REGISTER, steps.REGISTER, gates.REGISTER, supervisor.REGISTER)
    for part in register
    for name, key in part.keys.items()
    if key.meaning.startswith("nothing:") or key.fate == "no effect"
)
"""Keys that the reference documents as without an effect, or whose values are only warned about."""


def meaning_of(document: Any) -> Any:
    """What a file means: its native form, the names of its run's files, and what is reported."""
    node = parse(json.dumps(document))
    done = None if node is None else translate(node)
    if done is None or node is None:
        return None
    labels = labels_of(node) if done.dialect == "gates" else None
    reports = [(problem.message, problem.warning) for problem in done.translation.problems]
    return done.dialect, write_document(done.node), labels, reports


def value_at(document: Any, place: Place, key: str) -> Any:
    for step in place:
        document = document[step]
    return document[key]


def other_value(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}q"
        case list():
            return [*value, "q"]
        case dict():
            return {**value, "q": "q"}
        case _:
            return "q"


def with_value(document: Any, place: Place, key: str, value: Any) -> Any:
    copy = json.loads(json.dumps(document))
    part = copy
    for step in place:
        part = part[step]
    part[key] = value
    return copy


def is_asked_anyway(document: Any, place: Place, key: str) -> bool:
    """`max_retries` leads to a person after so many failures; a gate of a person asks one each time."""
    if key != "max_retries" or place[0] != "gates":
        return False
    return bool(document["gates"][place[1]]["reviewer"]["level"] == "human")


def twice(document: Any, place: Place, key: str) -> str:
    marked = f"{key}%twice"
    return json.dumps(renamed(document, place, key, marked)).replace(f'"{marked}":', f'"{key}": 1, "{key}":')


@pytest.mark.timeout(1800)
@pytest.mark.slow
def test_a_removed_key_had_an_effect_or_is_documented_to_have_none() -> None:
    """A key whose removal changes nothing must change something with another value, or be reported with it."""
    ignored = []
    for name, document, place, key in chosen_files():
        where = ".".join(map(str, place))
        before = meaning_of(document)
        if meaning_of(renamed(document, place, key, None)) != before:
            continue
        changed = with_value(document, place, key, other_value(value_at(document, place, key)))
        is_known = (
            key in NO_EFFECT or INSIDE_REPORTED.fullmatch(where) or is_asked_anyway(document, place, key)
        )
        if meaning_of(changed) == before and not is_known:
            ignored.append((name, where, key))
    assert sorted(set(ignored)) == []


@pytest.mark.timeout(1800)
@pytest.mark.slow
def test_a_duplicated_key_is_always_a_mistake() -> None:
    for _, document, place, key in chosen_files():
        assert parse(twice(document, place, key)) is None
