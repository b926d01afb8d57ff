"""Projects of a few files for tests of the packer, without a repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from podium.context.extract.languages import grammar_of, read_facts
from podium.context.facts import FileFacts
from podium.context.plan import Redacted
from podium.context.resolve.graph import ImportGraph, is_config


class MemoryFiles:
    """Files by path; facts are read in this process."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self._contents = {
            path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()
        }
        self._facts = {
            path: read_facts(grammar_of(path), content) for path, content in self._contents.items()
        }

    @property
    def blobs(self) -> Mapping[str, str]:
        return {path: sha256(content).hexdigest() for path, content in self._contents.items()}

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        return {path: self._contents[path] for path in paths}

    def facts(self, paths: Sequence[str]) -> Mapping[str, FileFacts]:
        return {path: self._facts[path] for path in paths if path in self._facts}

    def graph(self) -> ImportGraph:
        configs = {path: content for path, content in self._contents.items() if is_config(path)}
        facts = {path: facts for path, facts in self._facts.items() if facts.language}
        return ImportGraph(facts, self._contents, configs)


def unredacted(text: str) -> Redacted:
    return Redacted(text, 0)


def facts_of(path: str, text: str) -> FileFacts:
    return read_facts(grammar_of(path), text.encode())
