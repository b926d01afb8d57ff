"""Ranks files by how likely a change touches them: several rankings, fused by the reciprocal of their ranks.

Weights as measured on 149 commits of five repositories: co-change and words of the task weigh most; imports of the
target find almost nothing and have no part in it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from podium.context.history import History, changed_together
from podium.context.words import spellings
from podium.fast_dataclass import dataclass

SMOOTHING: Final = 20
WEIGHTS: Final = {"history": 1.5, "task": 1.5, "importers": 0.8, "neighbours": 1.0, "names": 0.5}
"""The order breaks ties between reasons."""
MAX_SHARE: Final = 0.2
"""Words in a larger share of the files say nothing."""
FEW_FILES: Final = 5
K1: Final = 1.2
B: Final = 0.75
PATH_WEIGHT: Final = 3
DEEPEST: Final = 300
"""Of each ranking, the first so many files take part."""

Postings = Mapping[str, Mapping[str, int]]
"""For each word, how often each file has it, by path."""


@dataclass(frozen=True, slots=True)
class Ranked:
    path: str
    score: float
    reasons: tuple[str, ...]
    """Why it is here, the strongest first, in a few words."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What the rankings are computed from; paths are those of candidates."""

    candidates: Mapping[str, int]
    """Each file with its size in bytes."""
    targets: tuple[str, ...]
    history: History
    importers: Mapping[str, int]
    """Files that import a target, with the number of names they take."""
    task: Mapping[str, str]
    """Words of the task, each as it was written."""
    names: Collection[str]
    """Names that the targets define."""
    postings: Postings


def rank(signals: Signals) -> tuple[Ranked, ...]:
    """All candidates with any reason, the best first; ties by path. Targets are not among them."""
    together = changed_together(signals.history, signals.targets)
    task = bm25(signals.candidates, signals.postings, signals.task)
    if not signals.targets:
        # Without a target the task alone decides: its first hits show what was changed with them.
        first = [path for path, _ in _best(task)[:3]]
        together = changed_together(signals.history, first)
    matching = bm25(signals.candidates, signals.postings, _name_words(signals.names))
    near = neighbours(signals.candidates, signals.targets)
    importers = {
        path: number + (1_000 * together[path].score if path in together else 0)
        for path, number in signals.importers.items()
    }
    rankings: dict[str, Mapping[str, float]] = {
        "history": {path: change.score for path, change in together.items()},
        "task": task,
        "importers": importers,
        "neighbours": near,
        "names": matching,
    }
    scores: defaultdict[str, float] = defaultdict(float)
    shares: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    skip = frozenset(signals.targets)
    # Without a target the task is what the history was looked up with.
    weights = WEIGHTS if signals.targets else {**WEIGHTS, "task": 2 * WEIGHTS["task"]}
    for name, weight in weights.items():
        usable = {p: s for p, s in rankings[name].items() if p in signals.candidates and p not in skip}
        for place, (path, _) in enumerate(_best(usable)[:DEEPEST]):
            share = weight / (SMOOTHING + place)
            scores[path] += share
            shares[path].append((share, name))
    explain = _Reasons(signals, {path: change.times for path, change in together.items()})
    return tuple(
        Ranked(path, score, explain.of(path, shares[path]))
        for path, score in sorted(scores.items(), key=lambda item: (-round(item[1], 12), item[0]))
    )


def bm25(candidates: Mapping[str, int], postings: Postings, words: Iterable[str]) -> dict[str, float]:
    """The relevance of each file for the words; those of its path count as well."""
    total = len(candidates)
    if not total:
        return {}
    mean = max(1.0, sum(candidates.values()) / total)
    scores: defaultdict[str, float] = defaultdict(float)
    for word in sorted(set(words)):
        counts = {path: n for path, n in postings.get(word, {}).items() if path in candidates}
        if not counts or len(counts) > max(MAX_SHARE * total, FEW_FILES):
            continue
        rarity = math.log(1 + (total - len(counts) + 0.5) / (len(counts) + 0.5))
        for path, number in counts.items():
            length = 1 - B + B * candidates[path] / mean
            scores[path] += rarity * number * (K1 + 1) / (number + K1 * length)
    return dict(scores)


def with_path_words(candidates: Iterable[str], postings: Postings) -> dict[str, dict[str, int]]:
    """The postings with the words of the paths; only words that are in the postings already matter."""
    result = {word: dict(counts) for word, counts in postings.items()}
    for path in candidates:
        for part in path.replace(".", "/").replace("-", "_").split("/"):
            for word in spellings(part):
                if word in result:
                    result[word][path] = result[word].get(path, 0) + PATH_WEIGHT
    return result


def neighbours(candidates: Iterable[str], targets: Sequence[str]) -> dict[str, float]:
    """Files that a target's name leads to (its tests, or what it tests), and those in its folder."""
    scores: defaultdict[str, float] = defaultdict(float)
    stems = {target: _stem(target) for target in targets}
    for path in candidates:
        stem, folder = _stem(path), path.rpartition("/")[0]
        for target, needed in stems.items():
            home = target.rpartition("/")[0]
            if stem == needed and len(stem) > 1:
                scores[path] += 3 + _common(path, target)
            elif needed in _parts(path) or stem in _parts(target):
                scores[path] += 1.5
            if folder == home:
                scores[path] += 1
    return dict(scores)


def _stem(path: str) -> str:
    """The name without its endings and without what marks a test."""
    name = path.rpartition("/")[2].partition(".")[0].lower()
    for mark in ("test_", "tests_"):
        name = name.removeprefix(mark)
    for mark in ("_test", "_tests", "tests", "test", "_spec", "-spec", "spec"):
        if len(name) > len(mark):
            name = name.removesuffix(mark)
    return name


def _parts(path: str) -> frozenset[str]:
    parts = path.lower().split("/")[:-1]
    return frozenset(part for part in parts if part not in ("src", "lib", "test", "tests", "main"))


def _common(one: str, other: str) -> float:
    """How much of their folders two paths have in common, up to 1."""
    first, second = set(one.split("/")[:-1]), set(other.split("/")[:-1])
    return len(first & second) / max(1, len(first | second))


def _best(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(scores.items(), key=lambda item: (-round(item[1], 12), item[0]))


def _name_words(names: Collection[str]) -> set[str]:
    return {name.rpartition(".")[2].lower().strip("_") for name in names}


@dataclass(frozen=True, slots=True)
class _Reasons:
    signals: Signals
    times: Mapping[str, int]

    def of(self, path: str, shares: Sequence[tuple[float, str]]) -> tuple[str, ...]:
        order = list(WEIGHTS)
        ordered = sorted(shares, key=lambda share: (-share[0], order.index(share[1])))
        return tuple(self._say(path, name) for _, name in ordered[:2])

    def _say(self, path: str, name: str) -> str:
        match name:
            case "history":
                times = self.times.get(path, 0)
                with_what = "target" if self.signals.targets else "the first hits"
                return f"changed with {with_what} {times} time{'s' if times != 1 else ''}"
            case "task":
                return f"task says {self._word(path)}"
            case "importers":
                return "imports target"
            case "neighbours":
                return "next to target"
            case _:
                return "uses names of target"

    def _word(self, path: str) -> str:
        """The rarest word of the task that the file has."""
        having = [
            (len(counts), -len(word), word)
            for word in self.signals.task
            if path in (counts := self.signals.postings.get(word, {}))
        ]
        return self.signals.task[min(having)[2]] if having else "so"
