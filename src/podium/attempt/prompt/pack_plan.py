"""Works out what `context` of a step asks for: which files are the target, what ranks next to it, and how deep to go."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from podium.attempt.host import Host
from podium.attempt.prompt.code_files import CodeFiles, history_of
from podium.context import presets
from podium.context.cache import FactCache
from podium.context.candidates import is_test
from podium.context.history import History
from podium.context.manifest import Depth
from podium.context.plan import DiffPiece, PackPlan
from podium.context.presets import PRESETS, Preset
from podium.context.rank import Ranked, Signals, rank
from podium.context.resolve.graph import ImportGraph
from podium.context.words import spellings, task_words
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill_argv
from podium.core.globs import glob_matches
from podium.core.step_settings import ContextSettings
from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.trees.diff import DIFF_BYTES, changed_paths, diff
from podium.workflow.defaults import CONTEXT_BUDGET

MAX_TARGETS: Final = 40
MAX_PLANNED: Final = 20
SYMBOLS: Final = 2
SYMBOL_FILES: Final = 40
_PATH: Final = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*\.\w+")


@dataclass(frozen=True, slots=True)
class Request:
    """What decides about the pack of one attempt, besides the files."""

    settings: ContextSettings
    names: Names
    task: str = ""
    """The author's prompt with its values, by whose words files are found."""
    plan: tuple[str, ...] = ()
    """Answers of earlier steps, which may name files."""
    touches: tuple[str, ...] = ()
    since: Tree | None = None
    """The tree that `diff` compares with."""
    tree: Tree | None = None
    reads_files: bool = True
    """Whether the worker can look up files itself."""
    images: frozenset[str] = frozenset()
    """Files that the worker gets as images."""
    hide: tuple[str, ...] = ()
    """What `workspace.hide` names."""
    model: str = ""
    """The model whose tokens are counted."""
    command: tuple[str, str] | None = None
    """The program of the strategy, and what it printed."""
    own: frozenset[str] = frozenset()
    """The workflow and its prompts, which a step may not change and which repeat the task."""


def uses_code(settings: ContextSettings) -> bool:
    """Whether the pack depends on facts about the code."""
    words = (*settings.always, *settings.include, *settings.exclude)
    is_named = any(word in presets.WORDS for word in words)
    return bool(is_named or settings.strategy or settings.depth or settings.interfaces)


def plan_of(host: Host, request: Request, files: CodeFiles, cache: FactCache) -> PackPlan:
    settings, names = request.settings, request.names
    preset = PRESETS.get(str(settings.strategy), Preset())
    always = fill_argv(settings.always, names)
    include = () if preset.only else fill_argv(settings.include, names)
    words = {word for word in (*always, *include, *preset.words) if word in presets.WORDS}
    wants_diff = bool(settings.diff) or (preset.diff and settings.diff is None)
    pieces = _diff(host, request) if wants_diff else ()
    changed = _changed(host, request) if preset.changed else ()
    plain = PackPlan(
        depth=_depth(request, preset),
        budget=settings.budget or CONTEXT_BUDGET,
        always=_matching(files, always, request.images),
        include=_matching(files, (*include, *preset.include), request.images),
        diff=pieces,
        changed=changed if wants_diff else (),
        command=request.command,
        notes=_notes(request),
    )
    if not uses_code(settings):
        return plain
    scope = _Scope(host, request, files, cache, preset)
    excluded = _exclude_words(settings, names) | (frozenset(request.hide) & frozenset(presets.WORDS))
    return scope.extend(plain, words, excluded, changed)


def _notes(request: Request) -> tuple[str, ...]:
    if not request.settings.command or request.command is not None:
        return ()
    return ("the command of the strategy is called only in a run",)


def _exclude_words(settings: ContextSettings, names: Names) -> frozenset[str]:
    return frozenset(fill_argv(settings.exclude, names)) & frozenset(presets.WORDS)


def internals_of(host: Host, request: Request, files: CodeFiles, cache: FactCache) -> tuple[str, ...]:
    """The files that `$INTERNALS` means for this request."""
    scope = _Scope(host, request, files, cache, Preset())
    return scope.internals(scope.interfaces())


def _depth(request: Request, preset: Preset) -> Depth:
    match request.settings.depth or preset.depth:
        case "minimal" | "balanced" | "full" as depth:
            return depth
        case _:
            return "minimal" if request.reads_files else "balanced"


def _matching(files: CodeFiles, globs: Iterable[str], images: Collection[str]) -> tuple[str, ...]:
    """The files in the order of the globs, then by path."""
    paths = (
        path
        for glob in globs
        if glob not in presets.WORDS
        for path in files.blobs
        if path not in images and glob_matches(glob, path)
    )
    return tuple(dict.fromkeys(paths))


def _diff(host: Host, request: Request) -> tuple[DiffPiece, ...]:
    """The change since the start of the run, a piece for each file."""
    since, tree = request.since, request.tree
    if host.repository is None or since is None or tree is None:
        return ()
    text = diff(host.repository, since, tree, limit=DIFF_BYTES).text
    parts = re.split(r"(?m)^(?=diff --git )", text)
    paths = changed_paths(host.repository, since, tree)
    return tuple(DiffPiece(path, part) for path, part in zip(paths, parts[1:], strict=False))


def _changed(host: Host, request: Request) -> tuple[str, ...]:
    if host.repository is None or request.since is None or request.tree is None:
        return ()
    return changed_paths(host.repository, request.since, request.tree)


class _Scope:
    """The target of one request with its code around it."""

    def __init__(
        self, host: Host, request: Request, files: CodeFiles, cache: FactCache, preset: Preset
    ) -> None:
        self.host = host
        self.request = request
        self.files = files
        self.cache = cache
        self.preset = preset
        self.targets = self._targets()
        self.graph: ImportGraph = files.graph()
        self.task = {word: word for word in preset.task_words} or task_words(request.task)

    def extend(
        self, plain: PackPlan, words: set[str], excluded: frozenset[str], changed: tuple[str, ...]
    ) -> PackPlan:
        settings = self.request.settings
        shows_related = self.preset.related or presets.TARGET in words or bool(settings.depth)
        shows_related = shows_related and not self.preset.only
        needs_rank = shows_related or presets.PUBLIC_API in words
        history = history_of(self.host, self.cache, self.host.base_commit)
        ranked = self._rank(history) if needs_rank else ()
        interfaces = self.interfaces() if presets.INTERFACES in words else self._locked()
        api = self._api_files(ranked)
        hidden = frozenset[str]()
        if presets.INTERNALS in excluded:
            hidden = frozenset(self.internals(self.interfaces()))
        importers = self._affected(changed)
        notes = [*self.files.notes, *([history.note] if history.note and needs_rank else [])]
        if presets.TARGET in words and not self.targets:
            notes.append("no target: neither context.target, touches nor an earlier answer names a file")
        return PackPlan(
            depth=plain.depth,
            budget=plain.budget,
            always=plain.always,
            include=plain.include,
            diff=tuple(piece for piece in plain.diff if piece.path not in hidden),
            changed=plain.changed,
            targets=self.targets,
            shows_target=presets.TARGET in words,
            interfaces=interfaces,
            public_api=api if presets.PUBLIC_API in words else (),
            imports=(
                *(self.graph.imports_of(self.targets) if presets.IMPORTS in words else ()),
                *(one.path for one in importers),
            ),
            related=ranked or importers,
            symbols=self._symbols(ranked),
            shows_related=shows_related or (bool(importers) and plain.depth == "minimal"),
            shows_tree=self.preset.tree,
            only_public=hidden,
            task_words=tuple(sorted(self.task)),
            notes=tuple(notes),
        )

    def _targets(self) -> tuple[str, ...]:
        """`context.target`, else the step's `touches`, else the files that earlier answers name."""
        settings, names = self.request.settings, self.request.names
        globs = [glob for glob in fill_argv(settings.target, names) if glob]
        if not globs:
            globs = [glob for glob in self.request.touches if glob.strip("*/")]
        paths = [path for glob in globs for path in self.files.candidates if _names_file(glob, path)]
        if not paths:
            loaded = frozenset(self.files.candidates)
            mentioned = (match for text in self.request.plan for match in _PATH.findall(text))
            paths = [path for path in mentioned if path in loaded][:MAX_PLANNED]
        return tuple(dict.fromkeys(paths))[:MAX_TARGETS]

    def _rank(self, history: History) -> tuple[Ranked, ...]:
        facts = self.files.facts(self.targets)
        names = {one.name for path in self.targets if path in facts for one in facts[path].definitions}
        name_words = {name.rpartition(".")[2].lower().strip("_") for name in names}
        signals = Signals(
            candidates=self.files.sizes(),
            targets=self.targets,
            history=history,
            importers=self.graph.importers_of(self.targets) if self.targets else {},
            task=self.task,
            names=names,
            postings=self.files.postings({*self.task, *name_words}),
        )
        return rank(signals)

    def _affected(self, changed: tuple[str, ...]) -> tuple[Ranked, ...]:
        """The files that import what was changed."""
        if not changed:
            return ()
        counts = self.graph.importers_of(changed)
        best = sorted(counts, key=lambda path: (-counts[path], path))
        return tuple(Ranked(path, counts[path], ("imports what changed",)) for path in best)

    def _locked(self) -> tuple[str, ...]:
        """The interfaces that the build has locked."""
        globs = fill_argv(self.request.settings.interfaces, self.request.names)
        return tuple(
            dict.fromkeys(path for glob in globs for path in self.files.blobs if glob_matches(glob, path))
        )

    def interfaces(self) -> tuple[str, ...]:
        """Locked interfaces first, then the files with types and abstract classes that the targets name."""
        abstract: dict[str, None] = {}
        facts = self.files.facts(self.targets)
        for target in self.targets:
            used = frozenset(facts[target].uses) if target in facts else frozenset()
            for edge in self.graph.edges_from(target):
                own = self.files.facts([edge.target]).get(edge.target)
                if own is not None and any(one.abstract and one.name in used for one in own.definitions):
                    abstract[edge.target] = None
        return tuple(
            dict.fromkeys((*self._locked(), *(path for path in abstract if path not in self.targets)))
        )

    def _api_files(self, ranked: Sequence[Ranked]) -> tuple[str, ...]:
        """The code of the target without its tests; without a target, what ranks first."""
        code = [path for path in self.targets if self._is_internal_code(path)]
        return tuple(code or (one.path for one in ranked if self._is_internal_code(one.path)))

    def internals(self, interfaces: Collection[str]) -> tuple[str, ...]:
        """The code behind the public interface; without a target with code, all code but tests."""
        code = [path for path in self.targets if self._is_internal_code(path)]
        every = code or [path for path in self.files.candidates if self._is_internal_code(path)]
        return tuple(path for path in every if path not in interfaces)

    def _is_internal_code(self, path: str) -> bool:
        facts = self.files.facts([path]).get(path)
        return facts is not None and bool(facts.language) and not is_test(path)

    def _symbols(self, ranked: Sequence[Ranked]) -> dict[str, tuple[str, ...]]:
        """For each of the first files, the definitions that share a word with the task, else its first public ones."""
        first = [one.path for one in ranked[:SYMBOL_FILES]]
        facts = self.files.facts(first)
        chosen: dict[str, tuple[str, ...]] = {}
        for path in first:
            names = [one.name for one in facts[path].definitions if one.public and one.kind != "value"]
            fitting = [
                name
                for name in names
                if any(word in self.task for word in spellings(name.rpartition(".")[2]))
            ]
            best = list(dict.fromkeys((*fitting, *(name for name in names if "." not in name))))
            chosen[path] = tuple(best[:SYMBOLS])
        return chosen


def _names_file(glob: str, path: str) -> bool:
    """A target may be a glob, a file, or a folder with or without its slash."""
    return glob_matches(glob, path) or path.startswith(f"{glob.rstrip('/')}/")
