"""A store in memory: the executable specification of what a store does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from podium.core.chain import FIRST_HASH, Record, RunId, link
from podium.ports import Fenced, Letter, Misplaced, RunHead, StoreError


class MemoryStore:
    def __init__(self) -> None:
        self._heads: dict[RunId, RunHead] = {}
        self._records: dict[RunId, list[Record]] = {}
        self._letters: list[Letter] = []
        self._posted: set[tuple[RunId, str]] = set()

    def create(self, head: RunHead) -> None:
        if head.run in self._heads:
            raise StoreError(f"there is a run {head.run} already")
        self._heads[head.run] = replace(head, epoch=0, last_seq=0, last_hash=FIRST_HASH)
        self._records[head.run] = []

    def claim(self, run: RunId) -> int:
        head = self._known(run)
        self._heads[run] = replace(head, epoch=head.epoch + 1)
        return head.epoch + 1

    def append(
        self, run: RunId, events: Sequence[tuple[str, str]], *, after: int, epoch: int, cause: str
    ) -> tuple[Record, ...]:
        head = self._known(run)
        if epoch != head.epoch:
            raise Fenced(f"run {run} belongs to epoch {head.epoch} by now, not to {epoch}")
        if after != head.last_seq:
            raise Misplaced(f"run {run} has {head.last_seq} events, not {after}")
        records = self._records[run]
        added: list[Record] = []
        last = records[-1] if records else None
        for kind, body in events:
            last = link(run, last, cause=cause, type=kind, body=body)
            added.append(last)
        records.extend(added)
        if last is not None:
            self._heads[run] = replace(head, last_seq=last.seq, last_hash=last.hash)
        return tuple(added)

    def read(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]:
        return tuple(self._records.get(run, ())[after:])

    def head(self, run: RunId) -> RunHead | None:
        return self._heads.get(run)

    def heads(self) -> tuple[RunHead, ...]:
        return tuple(sorted(self._heads.values(), key=lambda head: (-head.created, head.run)))

    def set_status(self, run: RunId, status: str) -> None:
        self._heads[run] = replace(self._known(run), status=status)

    def post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        self._known(run)
        if (run, name) not in self._posted:
            self._posted.add((run, name))
            self._letters.append(Letter(len(self._posted), run, name, dict(body)))

    def letters(self, run: RunId) -> tuple[Letter, ...]:
        return tuple(letter for letter in self._letters if letter.run == run)

    def discard(self, letter: Letter) -> None:
        self._letters = [kept for kept in self._letters if kept.number != letter.number]

    def close(self) -> None:
        """Nothing is held."""

    def _known(self, run: RunId) -> RunHead:
        head = self._heads.get(run)
        if head is None:
            raise StoreError(f"there is no run {run}")
        return head
