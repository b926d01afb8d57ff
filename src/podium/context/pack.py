"""Packs the parts of a prompt's context within a budget, in the order of their claim.

A pure function: the same files, history, task and budget give the same bytes. Rule 1: every text is redacted in the form
that is shown, and counted after that. Rule 2: a part takes no room from one before it. Rule 3: nothing that was asked for
disappears without a line in `left_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from podium.context.facts import MAX_FILE_BYTES
from podium.context.forms import Form, public_signatures, signatures, tree_lines
from podium.context.manifest import Entry, LeftOut, Pack, PartName
from podium.context.plan import Files, PackPlan, Redacted
from podium.context.rank import Ranked
from podium.context.tokens import RULE, SAFE_SHARE, TokenCounter, fewest_tokens
from podium.errors import ConfigurationError

TARGET_SHARE: Final = 0.6
MINIMAL_TARGET: Final = 4_000
SMALL_INTERFACE: Final = 1_500
DIFF_SHARE: Final = 0.6
IMPORTS_SHARE: Final = 0.1
TREE_SHARE: Final = 0.05
RELATED_SHARE: Final = 3
"""A related file is whole if it takes at most one part in so many of what is left."""
LIKELY: Final = 15
RANKED_FIRST: Final = 20
"""So many of the ranking are left to it, even if the target imports them."""
NAMED_TOKENS: Final = 24
"""At most, for a line with a path and a reason."""
NAMED_EACH: Final = 400
"""So many tokens of room let one more related file at least be named."""
FRAME_TOKENS: Final = 6
"""Fences and line breaks around a text."""
MIN_PIECE: Final = 500
"""A shorter piece of a file is not worth packing."""
MAX_TEXT_BYTES: Final = 1 << 19
"""Of one file or diff in a prompt, whatever the budget."""


def pack(
    plan: PackPlan,
    files: Files,
    redact: Callable[[str], Redacted],
    *,
    counter: TokenCounter = RULE,
    tree: str = "",
    base: str = "",
) -> Pack:
    """Raises ConfigurationError if `always` does not fit."""
    packer = _Packer(plan, files, redact, counter)
    packer.add_always()
    packer.add_targets()
    packer.add_interfaces()
    packer.add_diff()
    packer.add_asked("changed", plan.changed, "changed in this run")
    packer.add_asked("include", plan.include, "asked for")
    packer.add_public_api()
    if plan.depth != "minimal":
        packer.add_imports()
    if plan.shows_related:
        packer.add_likely() if plan.depth == "minimal" else packer.add_related()
    if plan.shows_tree:
        packer.add_tree()
    if plan.command is not None:
        packer.add_command(*plan.command)
    return Pack(
        plan.depth,
        plan.budget,
        counter.name,
        tuple(packer.entries),
        tuple(packer.left_out),
        tuple(packer.binary),
        plan.notes,
        tree,
        base,
    )


class _Packer:
    """The room that is left, and what was packed until now."""

    def __init__(
        self, plan: PackPlan, files: Files, redact: Callable[[str], Redacted], counter: TokenCounter
    ) -> None:
        self.plan = plan
        self.files = files
        self.redact = redact
        self.count = counter.count
        self.room = int(plan.budget * SAFE_SHARE)
        self.entries: list[Entry] = []
        self.left_out: list[LeftOut] = []
        self.binary: list[str] = []
        self._packed: set[str] = set()

    def add_always(self) -> None:
        """Whole, or not at all: a prompt without them is not the one that was asked for."""
        made = [
            self._entry("always", path, "whole", content.decode("utf-8", "replace"), "always")
            for path, content in self._texts(self.plan.always)
        ]
        needed = sum(entry.tokens for entry in made)
        if needed > self.room or any(len(entry.text) > MAX_TEXT_BYTES for entry in made):
            raise ConfigurationError(
                f"context.always takes {needed} tokens, and the budget of {self.plan.budget} has room for {self.room}",
                hint="raise context.budget, or let context.always name less",
            )
        for entry in made:
            self._put(entry)

    def add_targets(self) -> None:
        if not self.plan.shows_target:
            return
        share = int(self.room * TARGET_SHARE)
        for number, (path, content) in enumerate(self._texts(self.plan.targets)):
            limit = min(share, MINIMAL_TARGET) if self.plan.depth == "minimal" else share
            entry = self._target_entry(path, content, limit, is_first=not number)
            if entry is None:
                self._leave(path, "target", content, "no room")
            else:
                share -= entry.tokens
                self._put(entry)

    def _target_entry(self, path: str, content: bytes, limit: int, *, is_first: bool) -> Entry | None:
        """Whole; else its signatures with the bodies the task speaks of; else a piece, so that the first is never gone."""
        text = content.decode("utf-8", "replace")
        whole = self._entry("target", path, "whole", text, "target")
        if path in self.plan.only_public:
            return self._smaller("target", path, content, "target", self.room)
        if whole.tokens <= limit:
            return whole
        facts = self.files.facts([path]).get(path)
        for words in (self.plan.task_words, ()):
            short = None if facts is None else signatures(content, facts, words)
            if short is None:
                continue
            note = f"{whole.tokens} tokens in full; bodies of functions are left out"
            entry = self._entry("target", path, "signatures", short, "target", note=note)
            if entry.tokens <= limit:
                return entry
        if not is_first and limit < MIN_PIECE:
            return None
        piece = self._cut(path, "target", text, "target", max(limit, min(self.room, MIN_PIECE)))
        return piece if piece.tokens <= self.room else None

    def add_interfaces(self) -> None:
        for path, content in self._texts(self.plan.interfaces):
            whole = self._entry("interfaces", path, "whole", content.decode("utf-8", "replace"), "interface")
            small = self._smaller("interfaces", path, content, "interface", self.room)
            if whole.tokens <= min(self.room, SMALL_INTERFACE) and path not in self.plan.only_public:
                self._put(whole)
            elif small is not None:
                self._put(small)
            elif whole.tokens <= self.room and path not in self.plan.only_public:
                self._put(whole)
            else:
                self._name_or_leave(path, "interfaces", content)

    def add_diff(self) -> None:
        """By file; where there is no room for all, the largest are left out first."""
        pieces = [
            self._entry("diff", piece.path, "whole", piece.text, "changed in this run")
            for piece in self.plan.diff
        ]
        limit = int(self.room * DIFF_SHARE)
        chosen: set[str] = set()
        for entry in sorted(pieces, key=lambda each: (each.tokens, each.path)):
            if entry.tokens <= limit and len(entry.text) <= MAX_TEXT_BYTES:
                limit -= entry.tokens
                chosen.add(entry.path)
        if pieces and not chosen:
            piece = min(self.plan.diff, key=lambda each: (len(each.text), each.path))
            limit = min(self.room, max(limit, MIN_PIECE))
            short = self._cut(piece.path, "diff", piece.text, "changed in this run", limit)
            if short.tokens <= self.room:
                self._put(short)
                chosen.add(piece.path)
        for entry in pieces:
            if entry.path not in chosen:
                self.left_out.append(LeftOut(entry.path, entry.tokens, "no room for its diff", "diff"))
            elif not any(each.part == "diff" and each.path == entry.path for each in self.entries):
                self._put(entry)

    def add_asked(self, part: PartName, paths: Sequence[str], reason: str) -> None:
        """Whole files in order while they fit, then shorter forms of the others."""
        later: list[tuple[str, bytes]] = []
        for path, content in self._texts(paths):
            if path in self.plan.only_public:
                later.append((path, content))
                continue
            entry = self._entry(part, path, "whole", content.decode("utf-8", "replace"), reason)
            if entry.tokens <= self.room and len(entry.text) <= MAX_TEXT_BYTES:
                self._put(entry)
            else:
                later.append((path, content))
        has_cut = False
        for path, content in later:
            small = self._smaller(part, path, content, reason, self.room)
            if small is not None:
                self._put(small)
            elif not has_cut and self.room >= MIN_PIECE and path not in self.plan.only_public:
                has_cut = True
                text = content.decode("utf-8", "replace")
                self._put(self._cut(path, part, text, reason, self.room))
                self._leave(path, part, content, "only a part fits")
            else:
                self._leave(path, part, content, "no room")

    def add_public_api(self) -> None:
        for path, content in self._texts(self.plan.public_api):
            facts = self.files.facts([path]).get(path)
            text = None if facts is None else public_signatures(content, facts)
            if text is None:
                self._leave(path, "public_api", content, "not parsed")
                continue
            entry = self._entry("public_api", path, "public", text, "public interface")
            if entry.tokens <= self.room:
                self._put(entry)
            else:
                self._leave(path, "public_api", content, "no room")

    def add_imports(self) -> None:
        limit = int(self.room * IMPORTS_SHARE)
        # What ranks high is more than an import: it may be shown whole.
        first = {one.path for one in self.plan.related[:RANKED_FIRST]} if self.plan.shows_related else set()
        for path, content in self._texts([path for path in self.plan.imports if path not in first]):
            small = self._smaller("imports", path, content, "imported by target", limit)
            if small is None:
                self._leave(path, "imports", content, "no room")
            else:
                limit -= small.tokens
                self._put(small)

    def add_likely(self) -> None:
        """Where to look, for an agent that reads files itself."""
        for ranked in self._unpacked()[:LIKELY]:
            entry = self._named("likely", ranked)
            if entry.tokens > self.room:
                self.left_out.append(LeftOut(ranked.path, 0, "no room", "likely"))
            else:
                self._put(entry)

    def add_related(self) -> None:
        """Whole files while each is a small part of what is left, then signatures, then names."""
        each = NAMED_EACH if self.plan.depth == "balanced" else NAMED_EACH // 2
        ranked = self._unpacked()[: max(1, self.room // each)]
        contents = dict(self._texts([one.path for one in ranked]))
        waiting = len(ranked)
        for one in ranked:
            waiting -= 1
            content = contents.get(one.path)
            free = self.room - waiting * NAMED_TOKENS
            entry = (
                None if content is None or free < NAMED_TOKENS else self._related_entry(one, content, free)
            )
            entry = entry or self._named("related", one)
            if entry.tokens > self.room:
                self.left_out.append(LeftOut(one.path, 0, "no room", "related"))
            else:
                self._put(entry)

    def _related_entry(self, one: Ranked, content: bytes, free: int) -> Entry | None:
        reason = ", ".join(one.reasons)
        if fewest_tokens(len(content)) <= free // RELATED_SHARE and one.path not in self.plan.only_public:
            whole = self._entry("related", one.path, "whole", content.decode("utf-8", "replace"), reason)
            if whole.tokens <= free // RELATED_SHARE:
                return whole
        return self._smaller("related", one.path, content, reason, free // 2)

    def add_tree(self) -> None:
        text = tree_lines(self.files.blobs, int(self.room * TREE_SHARE), self.count)
        if text:
            self._put(self._entry("tree", ".", "named", text, "folders of the project"))

    def add_command(self, name: str, text: str) -> None:
        """What a program printed, cut where there is no room for all of it."""
        reason = "printed by the command of the strategy"
        whole = self._entry("command", name, "whole", text, reason)
        if whole.tokens <= self.room and len(whole.text) <= MAX_TEXT_BYTES:
            self._put(whole)
            return
        short = self._cut(name, "command", text, reason, self.room) if self.room >= MIN_PIECE else None
        if short is not None and short.tokens <= self.room:
            self._put(short)
        self.left_out.append(
            LeftOut(name, whole.tokens, "no room" if short is None else "only a part fits", "command")
        )

    def _unpacked(self) -> list[Ranked]:
        return [one for one in self.plan.related if one.path not in self._packed]

    def _texts(self, paths: Sequence[str]) -> list[tuple[str, bytes]]:
        """The contents of those that were not packed before and are text."""
        new = [path for path in dict.fromkeys(paths) if path not in self._packed and path in self.files.blobs]
        contents = self.files.read(new)
        texts: list[tuple[str, bytes]] = []
        for path in new:
            if b"\0" in contents[path][:8000]:
                self.binary.append(path)
            else:
                texts.append((path, contents[path]))
        return texts

    def _entry(
        self, part: PartName, path: str, form: Form, text: str, reason: str, *, note: str = ""
    ) -> Entry:
        clean = self.redact(text)
        tokens = self.count(f"{path}{reason}{note}{clean.text}") + FRAME_TOKENS
        blob = self.files.blobs.get(path, "")[:8] if part != "diff" else ""
        return Entry(part, path, form, tokens, reason, clean.text, blob, clean.matches, note)

    def _named(self, part: PartName, ranked: Ranked) -> Entry:
        symbols = ", ".join(self.plan.symbols.get(ranked.path, ()))
        reason = "; ".join((*ranked.reasons, *([f"has {symbols}"] if symbols else [])))
        clean = self.redact(reason)
        tokens = self.count(f"- {ranked.path} ({clean.text})\n")
        blob = self.files.blobs.get(ranked.path, "")[:8]
        return Entry(part, ranked.path, "named", tokens, clean.text, "", blob, clean.matches)

    def _smaller(self, part: PartName, path: str, content: bytes, reason: str, limit: int) -> Entry | None:
        """The signatures, if the file has any and they fit."""
        facts = self.files.facts([path]).get(path)
        if facts is None or len(content) > MAX_FILE_BYTES:
            return None
        is_public = path in self.plan.only_public
        text = public_signatures(content, facts) if is_public else signatures(content, facts)
        if text is None:
            return None
        entry = self._entry(part, path, "public" if is_public else "signatures", text, reason)
        return entry if entry.tokens <= min(limit, self.room) else None

    def _cut(self, path: str, part: PartName, text: str, reason: str, limit: int) -> Entry:
        """The beginning and the end of a text that has no shorter form, in at most `limit` tokens."""
        clean = self.redact(text).text
        size = min(len(clean), MAX_TEXT_BYTES, limit * 4)
        while True:
            entry = self._entry(
                part, path, "cut", _middle_out(clean, size), reason, note="the middle is left out"
            )
            if entry.tokens <= limit or size <= 40:
                return entry
            size = min(size - 20, int(size * 0.9 * limit / max(entry.tokens, 1)))

    def _put(self, entry: Entry) -> None:
        self.room -= entry.tokens
        self.entries.append(entry)
        if entry.part != "diff":
            self._packed.add(entry.path)

    def _leave(self, path: str, part: PartName, content: bytes, reason: str) -> None:
        tokens = self.count(content.decode("utf-8", "replace"))
        self.left_out.append(LeftOut(path, tokens, reason, part, len(content)))

    def _name_or_leave(self, path: str, part: PartName, content: bytes) -> None:
        entry = self._named(part, Ranked(path, 0, ("no room for its text",)))
        if entry.tokens <= self.room:
            self._put(entry)
        self._leave(path, part, content, "no room")


def _middle_out(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    first = max(1, size // 4)
    last = max(1, size - first)
    return f"{text[:first]}\n[... {len(text) - first - last} characters left out ...]\n{text[len(text) - last :]}"
