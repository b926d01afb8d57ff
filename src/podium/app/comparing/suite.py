"""Reads a suite: the cases, the arms that are compared on them, and the commands that grade both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from podium.app.comparing.repositories import commit_named
from podium.app.values import read_values
from podium.core.json_text import compact_json
from podium.errors import ConfigurationError

KEYS: Final = frozenset(
    ("podium", "suite", "description", "limits", "trials", "margin", "arms", "cases", "graders", "people")
)
ARM_KEYS: Final = frozenset(("workflow", "set", "bring"))
SINGLE_KEYS: Final = frozenset(("baseline", "set", "bring", "agent", "model", "prompt", "money"))
CASE_KEYS: Final = frozenset(("folder", "repo", "at", "inputs", "graders"))
GRADER_KEYS: Final = frozenset(("run", "bring"))


class Grader(NamedTuple):
    run: str
    bring: Path | None
    """A folder whose files are added to the final tree; no workspace of an arm ever has them."""


class Case(NamedTuple):
    name: str
    folder: Path
    """The project that a run starts from, or the repository that has it at `commit`."""
    inputs: Mapping[str, Any]
    graders: tuple[Grader, ...]
    commit: str = ""


class Single(NamedTuple):
    """How the workflow of one agent is made of that of a team."""

    agent: str = ""
    model: str = ""
    prompt: str = ""
    money: str = ""
    """The arm whose cost of the same case and trial it may spend on further attempts."""


class Arm(NamedTuple):
    name: str
    workflow: Path
    settings: Mapping[str, Any]
    bring: tuple[Path, ...]
    """Folders and files beside the workflow that it needs, such as scripts of its agents."""
    single: Single | None = None
    """None for a workflow that runs as it is written."""

    @property
    def words(self) -> tuple[str, ...]:
        """The settings as `podium run --set` takes them."""
        return tuple(
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in self.settings.items()
        )


class Suite(NamedTuple):
    name: str
    usd: float
    trials: int
    margin: float
    arms: tuple[Arm, ...]
    cases: tuple[Case, ...]
    approves: bool
    """Whether a stand-in approves what a run asks."""
    fingerprint: str


def read_suite(path: Path) -> Suite:
    """Raises ConfigurationError with the key that is wrong."""
    if not path.is_file():
        raise ConfigurationError(f"{path} does not exist")
    root, at = read_values(path), str(path)
    _check_keys(root, KEYS, at)
    folder = path.absolute().parent
    shared = _graders(root.get("graders"), folder, f"{at}: graders")
    arms = tuple(_arm(name, value, folder, at) for name, value in _map(root, "arms", at).items())
    cases = tuple(_case(name, value, folder, shared, at) for name, value in _map(root, "cases", at).items())
    if len(arms) < 2:
        raise ConfigurationError(f"{at}: a comparison needs at least two arms")
    _check_money(arms, at)
    limits, people = root.get("limits") or {}, root.get("people") or {}
    usd = limits.get("usd") if isinstance(limits, Mapping) else None
    if not isinstance(usd, int | float) or isinstance(usd, bool) or usd <= 0:
        raise ConfigurationError(f"{at}: limits.usd must say what everything together may cost")
    return Suite(
        name=str(root.get("suite") or path.stem),
        usd=float(usd),
        trials=_whole(root.get("trials", 1), f"{at}: trials"),
        margin=float(root.get("margin", 0.1)),
        arms=arms,
        cases=cases,
        approves=people.get("approve") is True,
        fingerprint=_fingerprint(root, arms, cases),
    )


def _arm(name: str, value: Any, folder: Path, at: str) -> Arm:
    place = f"{at}: arms.{name}"
    is_single = isinstance(value, Mapping) and "baseline" in value
    _check_keys(value, SINGLE_KEYS if is_single else ARM_KEYS, place)
    settings = value.get("set") or {}
    if not isinstance(settings, Mapping):
        raise ConfigurationError(f"{place}.set must be a map of settings and values")
    brought = tuple(_existing(folder, each, f"{place}.bring") for each in _list(value.get("bring")))
    key = "baseline" if is_single else "workflow"
    file = _existing(folder, value.get(key), f"{place}.{key}")
    return Arm(name, file, settings, brought, _single(value, place) if is_single else None)


def _single(value: Mapping[str, Any], place: str) -> Single:
    words = {key: value[key] for key in Single._fields if value.get(key) is not None}
    for key, word in words.items():
        if not isinstance(word, str):
            raise ConfigurationError(f"{place}.{key} must be text")
    return Single(**words)


def _check_money(arms: Sequence[Arm], at: str) -> None:
    teams = [arm.name for arm in arms if arm.single is None or not arm.single.money]
    for arm in arms:
        if arm.single is not None and arm.single.money and arm.single.money not in teams:
            hint = f"arms whose money it can have: {', '.join(teams)}"
            raise ConfigurationError(
                f"{at}: arms.{arm.name}.money: there is no arm {arm.single.money} that has money of its own",
                hint=hint,
            )


def _case(name: str, value: Any, folder: Path, shared: tuple[Grader, ...], at: str) -> Case:
    place = f"{at}: cases.{name}"
    _check_keys(value, CASE_KEYS, place)
    graders = (*shared, *_graders(value.get("graders"), folder, f"{place}.graders"))
    if not graders:
        raise ConfigurationError(f"{place} has no grader, so no result can be judged")
    if "repo" not in value and "at" not in value:
        where = _existing(folder, value.get("folder"), f"{place}.folder")
        return Case(name, where, value.get("inputs") or {}, graders)
    if "folder" in value:
        raise ConfigurationError(f"{place} has a folder and a repository; it starts from one of them")
    where = _existing(folder, value.get("repo"), f"{place}.repo")
    if not isinstance(value.get("at"), str):
        raise ConfigurationError(f"{place}.at must name a commit, in quotes if it has only digits")
    commit = commit_named(where, value["at"], f"{place}.at")
    return Case(name, where, value.get("inputs") or {}, graders, commit)


def _graders(value: Any, folder: Path, place: str) -> tuple[Grader, ...]:
    graders = []
    for each in _list(value):
        _check_keys(each, GRADER_KEYS, place)
        if not isinstance(each.get("run"), str):
            raise ConfigurationError(f"{place}: run must be a command")
        bring = each.get("bring")
        graders.append(Grader(each["run"], None if bring is None else _existing(folder, bring, place)))
    return tuple(graders)


def _check_keys(value: Any, keys: frozenset[str], place: str) -> None:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{place} must be a map")
    unknown = [key for key in value if key not in keys]
    if unknown:
        hint = f"known keys: {', '.join(sorted(keys))}"
        raise ConfigurationError(f'{place} has an unknown key "{unknown[0]}"', hint=hint)


def _map(root: Mapping[str, Any], key: str, at: str) -> Mapping[str, Any]:
    value = root.get(key)
    if not isinstance(value, Mapping) or not value:
        raise ConfigurationError(f"{at}: {key} must be a map with at least one entry")
    for name in value:
        if not str(name).replace("_", "a").replace("-", "a").isalnum():
            raise ConfigurationError(f"{at}: {key}.{name} may have letters, digits, _ and - only")
    return value


def _list(value: Any) -> Sequence[Any]:
    return () if value is None else value if isinstance(value, list | tuple) else (value,)


def _whole(value: Any, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError(f"{place} must be a whole number above 0")
    return value


def _existing(folder: Path, name: Any, place: str) -> Path:
    path = folder / str(name)
    if not isinstance(name, str) or not path.exists():
        raise ConfigurationError(f"{place}: {name} does not exist beside the suite")
    return path


def _fingerprint(root: Mapping[str, Any], arms: Sequence[Arm], cases: Sequence[Case]) -> str:
    """Of the file and everything that it names, so that results of a changed suite are not mixed."""
    digest = hashlib.sha256(compact_json(_plain(root)).encode())
    digest.update("".join(case.commit for case in cases).encode())
    paths = [arm.workflow for arm in arms] + [path for arm in arms for path in arm.bring]
    paths += [case.folder for case in cases if not case.commit]
    paths += [grader.bring for case in cases for grader in case.graders if grader.bring is not None]
    for path in paths:
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        for file in files:
            digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
