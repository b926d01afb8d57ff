"""What packs contain of the files that a change touches, on this repository's own history, and how quick they are.

For each drawn commit: the target is its file with the most changed lines that is not a test, the task is its message, and the
truth are the other files it modified. Nothing of the commit or after it is looked at. Run it alone: python -m bench.context
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from podium.adapters.stores.code_facts import open_code_facts
from podium.attempt.prompt.code_files import CodeFiles
from podium.attempt.prompt.tree_files import TreeFiles
from podium.context.candidates import is_test
from podium.context.extract.languages import grammar_of
from podium.context.extract.reader import Job, read_all
from podium.context.history import MAX_COMMITS, History
from podium.context.pack import pack
from podium.context.plan import PackPlan, Redacted
from podium.context.rank import Signals, bm25, rank
from podium.context.tokens import SAFE_SHARE, count_tokens
from podium.context.words import task_words
from podium.git.command import run, text
from podium.git.history import file_history
from podium.git.repository import Repository, find, refs, tree_of, trees
from podium.git.trees.listing import FILE, PROGRAM, files, read_listing
from podium.redaction.scan import scrub

PIN: Final = "17f85f04"
"""The newest commit that may be drawn, so that later runs draw the same."""
SEED: Final = 21
DRAWN: Final = 25
POOL: Final = 400
BUDGETS: Final = (8_000, 32_000, 128_000)
METHODS: Final = ("alphabetical", "BM25", "fused")


class Case:
    """One commit of the history, before it was made."""

    def __init__(self, repository: Repository, commit: str) -> None:
        git = refs(repository)
        self.parent = text(git, "rev-parse", f"{commit}^")
        self.task = text(git, "log", "-1", "--format=%B", commit)
        lines: dict[str, int] = {}
        for row in text(
            git, "diff", "--numstat", "--no-renames", "--diff-filter=M", self.parent, commit
        ).split("\n"):
            added, removed, path = [*row.split("\t"), "", ""][:3] if row else ("", "", "")
            if added.isdecimal() and removed.isdecimal() and path:
                lines[path] = int(added) + int(removed)
        self.touched = len(text(git, "diff", "--name-only", self.parent, commit).split("\n"))
        code = {path: number for path, number in lines.items() if grammar_of(path)}
        mains = {path: number for path, number in code.items() if not is_test(path)}
        self.target = max(mains, key=lambda path: (mains[path], path)) if mains else ""
        self.truth = tuple(sorted(set(code) - {self.target}))

    @property
    def is_usable(self) -> bool:
        return bool(self.target) and 1 <= len(self.truth) <= 9 and self.touched <= 20


def cases(repository: Repository) -> Iterator[Case]:
    commits = text(refs(repository), "rev-list", "--no-merges", f"--max-count={POOL}", PIN).split("\n")
    random.Random(SEED).shuffle(commits)
    drawn = 0
    for commit in commits:
        case = Case(repository, commit)
        if case.is_usable:
            yield case
            drawn += 1
        if drawn == DRAWN:
            return


def tree_files(repository: Repository, commit: str) -> TreeFiles:
    listing = read_listing(trees(repository), tree_of(repository, commit))
    blobs = {path: entry.name for path, entry in files(listing) if entry.mode in (FILE, PROGRAM)}
    return TreeFiles(blobs, repository, repository.root, frozenset(listing))


def redact(content: str) -> Redacted:
    clean = scrub(content)
    return Redacted(clean.text, sum(clean.counts.values()))


def fused(code: CodeFiles, case: Case, history: History, budget: int) -> Mapping[str, str]:
    """The form of each file in a real pack."""
    targets = (case.target,)
    facts = code.facts(targets)[case.target]
    task = task_words(case.task)
    names = {one.name for one in facts.definitions}
    graph = code.graph()
    words = {*task, *(name.rpartition(".")[2].lower().strip("_") for name in names)}
    signals = Signals(
        code.sizes(), targets, history, graph.importers_of(targets), task, names, code.postings(words)
    )
    plan = PackPlan(
        "balanced",
        budget,
        targets=targets,
        shows_target=True,
        imports=graph.imports_of(targets),
        related=rank(signals),
        shows_related=True,
        shows_tree=True,
        task_words=tuple(task),
    )
    return {entry.path: entry.form for entry in pack(plan, code, redact).entries}


def greedy(code: CodeFiles, case: Case, paths: Sequence[str], budget: int) -> Mapping[str, str]:
    """Whole files in this order while they fit, after the target."""
    contents = code.read([case.target, *paths[:600]])
    room = int(budget * SAFE_SHARE)
    forms: dict[str, str] = {}
    for path, content in contents.items():
        if room < 50:
            break
        if len(content) // 8 <= room and (tokens := count_tokens(content.decode("utf-8", "replace"))) <= room:
            room -= tokens
            forms[path] = "whole"
    return forms


def relevance(code: CodeFiles, case: Case) -> list[str]:
    facts = code.facts([case.target])[case.target]
    words = {*task_words(case.task), *(one.name.rpartition(".")[2].lower() for one in facts.definitions)}
    scores = bm25(code.sizes(), code.postings(words), words)
    return sorted((path for path in scores if path != case.target), key=lambda path: (-scores[path], path))


def measure(repository: Repository, folder: Path) -> dict[tuple[str, int], list[tuple[float, float]]]:
    shares: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for case in cases(repository):
        with open_code_facts(folder / "facts.db") as cache:
            code = CodeFiles(tree_files(repository, case.parent), cache, ())
            past = file_history(repository, case.parent, most=MAX_COMMITS)
            ranked = relevance(code, case)
            for budget in BUDGETS:
                packs = {
                    "alphabetical": greedy(code, case, code.candidates, budget),
                    "BM25": greedy(code, case, ranked, budget),
                    "fused": fused(code, case, History(past.commits), budget),
                }
                for method, forms in packs.items():
                    whole = sum(forms.get(path) == "whole" for path in case.truth) / len(case.truth)
                    shown = sum(forms.get(path, "named") != "named" for path in case.truth) / len(case.truth)
                    shares.setdefault((method, budget), []).append((whole, shown))
    return shares


def main() -> None:
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as name:
        repository = find(root, Path(name) / "git")
        if repository is None or run(refs(repository), "cat-file", "-e", PIN, codes=(0, 128)).code:
            print("bench/context needs the history of this repository: git fetch --unshallow")
            sys.exit(2)
        _speed(repository, Path(name))
        shares = measure(repository, Path(name))
    number = len(shares["fused", BUDGETS[0]])
    print(f"touched files found, {number} commits up to {PIN}: whole / whole or signatures, in %")
    for method in METHODS:
        cells = [_mean(shares[method, budget]) for budget in BUDGETS]
        print(f"  {method:<14}" + "".join(f"{whole:>6.0f} /{shown:>4.0f}" for whole, shown in cells))
    whole = {method: _mean(shares[method, 32_000])[0] for method in METHODS}
    print(f"  fused at 32k: {whole['fused'] / max(whole['BM25'], 0.1):.2f} x BM25 (promised 1.2)")


def _mean(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return (
        100 * sum(whole for whole, _ in pairs) / len(pairs),
        100 * sum(shown for _, shown in pairs) / len(pairs),
    )


def _speed(repository: Repository, folder: Path) -> None:
    tree = tree_files(repository, PIN)
    paths = [path for path in tree.blobs if grammar_of(path)]
    contents = dict(tree.read(paths))
    began = time.perf_counter()
    for _ in read_all([Job(grammar_of(path), content) for path, content in contents.items()]):
        pass
    cold = len(paths) / (time.perf_counter() - began)
    print(f"cold extraction: {cold:.0f} code files per second (promised 100)")
    del contents
    case = next(cases(repository))
    for kind in ("first", "warm"):
        began = time.perf_counter()
        with open_code_facts(folder / "facts.db") as cache:
            code = CodeFiles(tree_files(repository, case.parent), cache, ())
            past = file_history(repository, case.parent, most=MAX_COMMITS)
            fused(code, case, History(past.commits), 32_000)
        print(f"{kind} pack of {len(code.blobs)} files: {time.perf_counter() - began:.2f} s")
    print(f"memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
