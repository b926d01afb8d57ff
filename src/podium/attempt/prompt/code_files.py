"""The files of an attempt with what is known about their code, read on demand and stored in the project's cache."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from podium.attempt.host import Host
from podium.attempt.prompt.tree_files import TreeFiles
from podium.context.cache import FactCache, key_of
from podium.context.candidates import MAX_FILES, is_secret_file, is_usable, may_be_candidate
from podium.context.extract.languages import grammar_of, is_installed, reader_of
from podium.context.extract.reader import Job, read_all
from podium.context.facts import MAX_FILE_BYTES, FileFacts
from podium.context.history import MAX_COMMITS, History
from podium.context.rank import with_path_words
from podium.context.resolve.graph import ImportGraph, is_config
from podium.core.globs import glob_matches
from podium.errors import PodiumError
from podium.git.history import file_history
from podium.git.repository import trees
from podium.git.trees.snapshot import read_small_blobs

MAX_CONFIG_BYTES: Final = 256_000
MAX_PATHS: Final = 200
"""Files of one commit that are remembered; more say nothing about any of them."""


class CodeFiles:
    """The files that may be shown: those of the tree without the excluded ones and those with only secrets."""

    def __init__(
        self,
        tree: TreeFiles,
        cache: FactCache,
        exclude: Collection[str],
        *,
        unranked: frozenset[str] = frozenset(),
    ) -> None:
        self._unranked = unranked
        self._tree = tree
        self._cache = cache
        self.secret = tuple(sorted(path for path in tree.blobs if is_secret_file(path)))
        hidden = frozenset(self.secret)
        self._blobs = {
            path: blob
            for path, blob in sorted(tree.blobs.items())
            if path not in hidden and not any(glob_matches(glob, path) for glob in exclude)
        }
        self._contents: dict[str, bytes] = {}
        self._facts: dict[str, FileFacts] = {}
        self._keys: dict[str, str] = {}
        self._candidates: tuple[str, ...] | None = None
        self.notes: list[str] = []

    @property
    def blobs(self) -> Mapping[str, str]:
        return self._blobs

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        missing = [path for path in dict.fromkeys(paths) if path not in self._contents]
        self._contents.update(self._tree.read(missing))
        return {path: self._contents[path] for path in paths}

    def facts(self, paths: Sequence[str]) -> Mapping[str, FileFacts]:
        self._load([path for path in paths if path in self._blobs and path not in self._facts])
        return {path: self._facts[path] for path in paths if path in self._facts}

    @property
    def candidates(self) -> tuple[str, ...]:
        """The files that may be packed unasked; reads the facts of all of them."""
        if self._candidates is None:
            paths = [path for path in self._blobs if may_be_candidate(path) and path not in self._unranked]
            if len(paths) > MAX_FILES:
                self.notes.append(f"only the first {MAX_FILES} of {len(paths)} files were looked at")
            facts = self.facts(paths[:MAX_FILES])
            self._candidates = tuple(path for path in paths if path in facts and is_usable(facts[path]))
            self._note_grammars()
        return self._candidates

    def sizes(self) -> dict[str, int]:
        return {path: max(1, self._facts[path].size) for path in self.candidates}

    def graph(self) -> ImportGraph:
        candidates = self.candidates
        configs = [path for path in self._blobs if is_config(path)]
        contents = {
            path: content
            for path, content in zip(configs, self._small(configs, MAX_CONFIG_BYTES), strict=True)
            if content is not None
        }
        facts = {path: self._facts[path] for path in candidates if self._facts[path].language}
        return ImportGraph(facts, candidates, contents)

    def postings(self, words: Iterable[str]) -> dict[str, dict[str, int]]:
        """For each word, how often each candidate has it, in its text and its path."""
        paths: dict[str, list[str]] = {}
        for path in self.candidates:
            paths.setdefault(self._keys[path], []).append(path)
        matching = self._cache.postings(words, paths.keys())
        by_path = {
            word: {path: n for key, n in counts.items() for path in paths.get(key, ())}
            for word, counts in matching.items()
        }
        return with_path_words(self.candidates, by_path)

    def _load(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        contents = (
            dict(zip(paths, self._all_small(paths), strict=True)) if self._tree.repository is None else {}
        )
        for path in paths:
            blob = self._blobs[path] or _digest(contents.get(path))
            self._keys[path] = key_of(blob, reader_of(grammar_of(path)))
        loaded = self._cache.load({self._keys[path] for path in paths})
        missing = {self._keys[path]: path for path in paths if self._keys[path] not in loaded}
        if missing:
            loaded |= self._extract(missing, contents)
        for path in paths:
            self._facts[path] = loaded[self._keys[path]]

    def _extract(
        self, missing: Mapping[str, str], contents: Mapping[str, bytes | None]
    ) -> dict[str, FileFacts]:
        paths = list(missing.values())
        texts = [contents[path] for path in paths] if contents else self._all_small(paths)
        facts: dict[str, FileFacts] = {}
        jobs: list[Job] = []
        keys: list[str] = []
        for (key, path), content in zip(missing.items(), texts, strict=True):
            if content is None:
                facts[key] = FileFacts("", fault="too large", size=MAX_FILE_BYTES + 1)
            else:
                keys.append(key)
                jobs.append(Job(grammar_of(path), content))
        facts.update(zip(keys, read_all(jobs), strict=True))
        self._cache.add(facts)
        return facts

    def _all_small(self, paths: Sequence[str]) -> list[bytes | None]:
        return self._small(paths, MAX_FILE_BYTES)

    def _small(self, paths: Sequence[str], most: int) -> list[bytes | None]:
        repository = self._tree.repository
        if repository is not None:
            return list(read_small_blobs(trees(repository), [self._blobs[path] for path in paths], most))
        return [self._tree.read_small(path, most) for path in paths]

    def _note_grammars(self) -> None:
        grammars = {grammar_of(path) for path in self.candidates} - {"", "python"}
        lacking = sorted({name.replace("tsx", "typescript") for name in grammars if not is_installed(name)})
        if lacking:
            names = ", ".join(lacking)
            self.notes.append(
                f"{names}: not parsed, because the extra is missing: pip install 'podium[context]'"
            )


def history_of(host: Host, cache: FactCache, commit: str | None) -> History:
    """The files of the commits up to the one that the run started from; what comes later is not looked at."""
    if host.repository is None:
        return History((), "no history: not a git repository")
    if commit is None:
        return History((), "no history: no commit yet")
    chosen = cache.history(commit)
    if chosen is not None:
        commits, note = json.loads(zlib.decompress(chosen))
        return History(tuple(map(tuple, commits)), note)
    try:
        matching = file_history(host.repository, commit, most=MAX_COMMITS)
    except PodiumError as error:
        return History((), f"no history: {error.message.splitlines()[0]}")
    note = (
        f"little history: a shallow clone with {len(matching.commits)} commits" if matching.is_shallow else ""
    )
    commits = [paths if len(paths) <= MAX_PATHS else () for paths in matching.commits]
    data = json.dumps([commits, note], separators=(",", ":")).encode("utf-8", "surrogatepass")
    if not matching.is_shallow:
        # The clone may be deepened, and the commit stays the same.
        cache.keep_history(commit, zlib.compress(data, 1))
    return History(tuple(map(tuple, commits)), note)


def _digest(content: bytes | None) -> str:
    return "large" if content is None else hashlib.sha256(content).hexdigest()
