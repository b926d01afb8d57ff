"""The packer: what goes in, in which form, and what happens where there is no room."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.context.history import History
from podium.context.manifest import ORDER, Pack, manifest_of, pack_hash, parts_of
from podium.context.pack import pack
from podium.context.plan import DiffPiece, PackPlan, Redacted
from podium.context.rank import Ranked, Signals, rank
from podium.context.tokens import count_tokens
from podium.errors import ConfigurationError
from podium.redaction.scan import scrub
from tests.context.projects import MemoryFiles, unredacted

CODE = '''"""The module."""


def visible(a: int) -> int:
    """Adds.

    Long.
    """
    step_one = a + 1
    step_two = step_one + 1
    return step_two


def _private() -> None:
    first = 1
    second = 2
    print(first, second)
'''
PROJECT = {
    "src/target.py": CODE,
    "src/other.py": CODE.replace("visible", "other"),
    "src/base.py": "from typing import Protocol\n\n\nclass Port(Protocol):\n    def go(self) -> None: ...\n",
    "docs/guide.md": "guide\n" * 40,
    "must.md": "must\n",
    "picture.png": "\0binary",
}


def packed(plan: PackPlan, files: Mapping[str, str] = PROJECT) -> Pack:
    return pack(plan, MemoryFiles(files), unredacted)


def ranked(*paths: str) -> tuple[Ranked, ...]:
    return tuple(Ranked(path, 1 / (place + 1), ("next to target",)) for place, path in enumerate(paths))


def forms(result: Pack) -> dict[str, tuple[str, str]]:
    return {entry.path: (entry.part, entry.form) for entry in result.entries}


@pytest.mark.req("R087", "R085")
def test_the_parts_come_in_the_order_of_their_claim() -> None:
    result = packed(
        PackPlan(
            depth="balanced",
            budget=10_000,
            always=("must.md",),
            targets=("src/target.py",),
            shows_target=True,
            interfaces=("src/base.py",),
            diff=(DiffPiece("docs/guide.md", "diff --git a b\n+x\n"),),
            imports=("src/other.py",),
            shows_tree=True,
        )
    )

    order = [ORDER.index(entry.part) for entry in result.entries]
    assert order == sorted(order)
    assert [name for name, *_ in parts_of(manifest_of(result))] == [
        "always",
        "target",
        "interfaces",
        "diff",
        "imports",
        "tree",
    ]


def test_imports_are_signatures_and_a_target_is_whole() -> None:
    result = packed(
        PackPlan("balanced", 4_000, targets=("src/target.py",), shows_target=True, imports=("src/other.py",))
    )

    texts = {entry.path: entry.text for entry in result.entries}
    assert forms(result) == {
        "src/target.py": ("target", "whole"),
        "src/other.py": ("imports", "signatures"),
    }
    assert "step_two" in texts["src/target.py"]
    assert "step_two" not in texts["src/other.py"] and '"""Adds."""' in texts["src/other.py"]


def test_the_public_interface_shows_no_private_name_and_no_body() -> None:
    source = "class A:\n    def _hidden(self):\n        return 1\n\n    def shown(self):\n        return secret_way()\n"
    result = packed(
        PackPlan("minimal", 4_000, public_api=("a.py", "src/target.py")), {**PROJECT, "a.py": source}
    )

    text = "".join(entry.text for entry in result.entries)
    assert "def shown(self)" in text and "def visible" in text
    assert not any(word in text for word in ("_hidden", "secret_way", "_private", "step_one"))


@pytest.mark.req("R083")
def test_an_explorer_gets_places_and_a_text_agent_gets_texts() -> None:
    plan = {
        "budget": 8_000,
        "targets": ("src/target.py",),
        "shows_target": True,
        "imports": ("src/base.py",),
        "related": ranked("src/other.py", "docs/guide.md"),
        "shows_related": True,
    }
    minimal = packed(PackPlan(depth="minimal", **plan))  # type: ignore[arg-type]  # of different types
    balanced = packed(PackPlan(depth="balanced", **plan))  # type: ignore[arg-type]  # as above

    assert forms(minimal) == {
        "src/target.py": ("target", "whole"),
        "src/other.py": ("likely", "named"),
        "docs/guide.md": ("likely", "named"),
    }
    assert forms(balanced)["src/other.py"] == ("related", "whole")
    assert forms(balanced)["src/base.py"] == ("imports", "signatures")
    assert minimal.tokens < balanced.tokens


def test_a_large_target_is_cut_with_a_note_and_keeps_what_the_task_says() -> None:
    functions = "".join(
        f"def function_{n}(value):\n    first = value + {n}\n    second = first * {n}\n    return second\n\n\n"
        for n in range(300)
    )
    plan = PackPlan(
        "balanced", 9_000, targets=("big.py",), shows_target=True, task_words=("function_7", "first_is_not")
    )
    result = packed(
        plan, {"big.py": functions.replace("first = value + 7\n", "first = value + function_7\n")}
    )

    (entry,) = result.entries
    assert entry.form == "signatures" and "tokens in full" in entry.note
    assert "first = value + function_7" in entry.text and "first = value + 8\n" not in entry.text


def test_what_must_be_there_and_does_not_fit_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"context\.always takes \d+ tokens, and the budget of 20"):
        packed(PackPlan("minimal", 20, always=("docs/guide.md",)))


def test_a_file_is_packed_once_and_a_binary_one_is_named() -> None:
    result = packed(
        PackPlan("minimal", 4_000, always=("must.md",), include=("must.md", "picture.png", "docs/guide.md"))
    )

    assert [entry.path for entry in result.entries] == ["must.md", "docs/guide.md"]
    assert result.binary == ("picture.png",)


@pytest.mark.req("R091", "C39")
def test_a_secret_is_gone_in_every_form_and_counted_after_that() -> None:
    key = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3"
    source = f'def call(url, token="{key}"):\n    """Uses {key}."""\n    a = 1\n    b = 2\n    return a + b\n'

    def redact(text: str) -> Redacted:
        clean = scrub(text)
        return Redacted(clean.text, sum(clean.counts.values()))

    files = MemoryFiles({"a.py": source, "b.py": source, "c.py": source, "d.md": f"key {key}\n"})
    plan = PackPlan(
        "balanced",
        4_000,
        always=("d.md",),
        targets=("a.py",),
        shows_target=True,
        diff=(DiffPiece("b.py", f"+{key}\n"),),
        imports=("b.py",),
        public_api=("c.py",),
    )
    result = pack(plan, files, redact)

    assert {entry.form for entry in result.entries} == {"whole", "signatures", "public"}
    for entry in result.entries:
        assert key not in entry.text and entry.redacted >= 1
        assert entry.tokens <= count_tokens(f"{entry.path}{entry.reason}{entry.note}{entry.text}") + 6


def test_a_file_behind_a_public_interface_is_never_shown_whole() -> None:
    plan = PackPlan(
        "balanced",
        8_000,
        targets=("src/target.py",),
        shows_target=True,
        include=("src/other.py",),
        related=ranked("src/other.py"),
        shows_related=True,
        only_public=frozenset({"src/target.py", "src/other.py"}),
    )
    result = packed(plan)

    assert {form for _, form in forms(result).values()} == {"public"}
    assert "step_one" not in "".join(entry.text for entry in result.entries)


PATHS = st.sampled_from(
    [f"{folder}/{name}.{end}" for folder in "ab" for name in "xyz" for end in ("py", "md")]
)
TEXTS = st.one_of(
    st.integers(0, 60).map(lambda n: "word and more\n" * n),
    st.integers(0, 12).map(lambda n: "".join(CODE.replace("visible", f"f{k}") for k in range(n))),
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[PackPlan, dict[str, str]]:
    files = draw(st.dictionaries(PATHS, TEXTS, min_size=1, max_size=8))
    some = st.lists(st.sampled_from(sorted(files)), max_size=4, unique=True).map(tuple)
    plan = PackPlan(
        depth=draw(st.sampled_from(["minimal", "balanced", "full"])),
        budget=draw(st.integers(600, 6_000)),
        targets=draw(some),
        shows_target=draw(st.booleans()),
        interfaces=draw(some),
        diff=tuple(DiffPiece(path, f"+{files[path]}") for path in draw(some)),
        include=draw(some),
        public_api=draw(some),
        imports=draw(some),
        related=ranked(*draw(some)),
        shows_related=draw(st.booleans()),
        shows_tree=draw(st.booleans()),
        only_public=frozenset(draw(some)),
    )
    return plan, files


@given(plans())
def test_a_pack_stays_within_its_budget_and_forgets_nothing(made: tuple[PackPlan, dict[str, str]]) -> None:
    plan, files = made
    result = packed(plan, files)

    shown = sum(
        count_tokens(f"{entry.path}{entry.reason}{entry.note}{entry.text}") for entry in result.entries
    )
    assert shown <= plan.budget and result.tokens <= plan.budget
    order = [ORDER.index(entry.part) for entry in result.entries]
    assert order == sorted(order)
    whole = [entry.path for entry in result.entries if entry.part != "diff"]
    assert len(whole) == len(set(whole))
    present = {entry.path for entry in result.entries} | {one.path for one in result.left_out}
    assert {piece.path for piece in plan.diff} | set(plan.include) <= present
    for entry in result.entries:
        if entry.path in plan.only_public and entry.part != "diff":
            assert entry.form in ("public", "named")


@given(plans(), st.integers(1, 4_000))
def test_more_budget_never_removes_a_file(made: tuple[PackPlan, dict[str, str]], more: int) -> None:
    plan, files = made
    larger = PackPlan(
        **{name: getattr(plan, name) for name in plan.__slots__} | {"budget": plan.budget + more}
    )

    def named(result: Pack) -> set[str]:
        return {entry.path for entry in result.entries} | {one.path for one in result.left_out}

    assert named(packed(plan, files)) <= named(packed(larger, files))


@given(plans(), st.integers(0, 99))
def test_the_order_in_which_files_are_listed_changes_nothing(
    made: tuple[PackPlan, dict[str, str]], seed: int
) -> None:
    plan, files = made
    shuffled = list(files.items())
    random.Random(seed).shuffle(shuffled)

    assert pack_hash(packed(plan, files)) == pack_hash(packed(plan, dict(shuffled)))


def test_history_words_importers_and_neighbours_rank_files() -> None:
    candidates = dict.fromkeys(
        (
            "src/target.py",
            "tests/test_target.py",
            "src/user.py",
            "src/often.py",
            "src/words.py",
            "src/none.py",
        ),
        100,
    )
    signals = Signals(
        candidates=candidates,
        targets=("src/target.py",),
        history=History(
            (
                ("src/target.py", "src/often.py"),
                ("src/target.py", "src/often.py", "src/none.py"),
            )
        ),
        importers={"src/user.py": 1},
        task={"bulk_create": "bulk_create"},
        names={"run_it"},
        postings={"bulk_create": {"src/words.py": 3}, "run_it": {"src/user.py": 1}},
    )
    reasons = {one.path: one.reasons for one in rank(signals)}

    assert next(iter(reasons)) == "src/often.py"
    assert reasons["src/often.py"][0] == "changed with target 2 times"
    assert "task says bulk_create" in reasons["src/words.py"]
    assert "imports target" in reasons["src/user.py"]
    assert "next to target" in reasons["tests/test_target.py"]
    assert "src/target.py" not in reasons


def test_a_commit_of_many_files_says_nothing() -> None:
    many = tuple(f"f{n}.py" for n in range(40))
    signals = Signals(dict.fromkeys(many, 1), ("f0.py",), History((many,)), {}, {}, (), {})

    assert not any("changed" in reason for one in rank(signals) for reason in one.reasons)
