"""What is read from the content of one file, also where it is hostile or newer than the interpreter."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from podium.context.extract import languages
from podium.context.extract.reader import Job, read_all
from podium.context.facts import decode_facts, encode_facts, facts_from_line, facts_to_line
from podium.context.forms import public_signatures, signatures
from tests.context.projects import facts_of

SOURCES = {
    "a.py": "import os\n\n\nclass A:\n    def f(self) -> int:\n        a = 1\n        b = 2\n        return a + b\n",
    "a.ts": "import {x} from './b';\nexport class A {\n  f(): number {\n    const a = 1;\n    const b = 2;\n    return a + b;\n  }\n}\n",
    "a.js": "const b = require('./b');\nfunction f() {\n  const a = 1;\n  const b = 2;\n  return a + b;\n}\n",
    "a.tsx": "export function F() {\n  const a = 1;\n  const b = 2;\n  return <p>{a + b}</p>;\n}\n",
    "a.go": 'package a\n\nimport "fmt"\n\nfunc F() int {\n\ta := 1\n\tb := 2\n\tfmt.Println(a)\n\treturn a + b\n}\n',
    "a.rs": "use crate::b;\n\npub fn f() -> u8 {\n    let a = 1;\n    let b = 2;\n    a + b\n}\n",
    "a.java": "package a;\nimport b.C;\nclass A {\n  int f() {\n    int a = 1;\n    int b = 2;\n    return a + b;\n  }\n}\n",
}


@pytest.mark.req("R086")
@pytest.mark.parametrize("path", SOURCES)
def test_signatures_leave_out_the_bodies_of_functions(path: str) -> None:
    facts = facts_of(path, SOURCES[path])
    text = signatures(SOURCES[path].encode(), facts)

    assert facts.definitions and text is not None
    assert "a + b" not in text and "..." in text
    assert any(one.name.rpartition(".")[2].lower() == "f" for one in facts.definitions)


@pytest.mark.parametrize("path", SOURCES)
def test_facts_are_stored_without_loss(path: str) -> None:
    facts = facts_of(path, SOURCES[path])

    assert facts_from_line(facts_to_line(facts)) == facts
    assert decode_facts(encode_facts(facts)).definitions == facts.definitions


def test_newer_python_is_read_by_the_grammar() -> None:
    """The interpreter that runs Podium need not be the one the project is written for."""
    newer = "def f[T](a: T) -> T:\n    first = 1\n    second = 2\n    return a\n\nmatch x:\n  case 1: pass\nprint(f'{f'{1}'}')\n"
    facts = facts_of("a.py", newer)

    assert [one.name for one in facts.definitions] == ["f"]
    assert "first" not in (signatures(newer.encode(), facts) or "")


def test_without_a_grammar_a_file_has_only_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from podium.context.extract import tree_sitter_facts

    monkeypatch.setattr(tree_sitter_facts, "parser_of", lambda _: None)
    facts = facts_of("a.go", SOURCES["a.go"])

    assert facts.fault == languages.NO_GRAMMAR and not facts.definitions and "println" in facts.words
    assert signatures(SOURCES["a.go"].encode(), facts) is None


def test_a_long_text_in_the_public_form_has_no_short_body_either() -> None:
    source = "def shown():\n    return how_it_works()\n"

    assert "how_it_works" in (signatures(source.encode(), facts_of("a.py", source)) or "")
    assert "how_it_works" not in (public_signatures(source.encode(), facts_of("a.py", source)) or "")


def test_words_of_a_file_are_identifiers_and_their_parts() -> None:
    words = facts_of("notes.md", "bulkCreate and HTTPServer in snake_case\n").words

    assert {"bulkcreate", "bulk", "create", "httpserver", "server", "snake_case", "snake"} <= set(words)
    assert "and" not in words


def test_hostile_files_cost_only_themselves() -> None:
    """Deep nesting overflows the stack of parsers or takes them minutes."""
    hostile = [
        ("python", b"x = " + b"-" * 200_000 + b"1\n"),
        ("python", b"(" * 100_000),
        ("typescript", b"a<" * 150_000),
        ("rust", b"fn f() { " + b"[" * 200_000),
        ("java", b"class A { int x = " + b"(" * 190_000),
        ("go", b"package a\n" + b"func f(){" * 40_000),
    ]
    jobs = [Job("python", b"def first():\n    pass\n")]
    for grammar, content in hostile:
        jobs += [Job(grammar, content), Job("python", b"def after():\n    pass\n")]
    facts = list(read_all(jobs, file_s=1.0))

    assert len(facts) == len(jobs)
    assert facts[0].definitions[0].name == "first"
    assert all(one.definitions[0].name == "after" for one in facts[2::2])


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES)
def test_mutated_sources_never_raise(path: str) -> None:
    """Facts of broken files are incomplete, but every form of them can still be made."""
    source = SOURCES[path].encode() * 4
    pieces = [
        b"{",
        b"}",
        b"(",
        b'"',
        b"'''",
        b"\n",
        b"\r\n",
        b"\\",
        b"\xff",
        b"\0",
        b"class ",
        b"*/",
        b"\xe4\xbd",
    ]
    for seed in range(2_000):
        draw = random.Random(seed)
        content = bytearray(source)
        for _ in range(draw.randint(1, 8)):
            place = draw.randrange(len(content))
            content[place : place + draw.randint(0, 6)] = draw.choice(pieces)
        facts = languages.read_facts(languages.grammar_of(path), bytes(content))
        signatures(bytes(content), facts)
        public_signatures(bytes(content), facts)


def test_this_package_is_read_by_the_child_as_in_this_process() -> None:
    paths = sorted(Path(languages.__file__).parent.glob("*.py"))
    jobs = [Job("python", path.read_bytes()) for path in paths]

    assert list(read_all(jobs)) == [languages.read_facts(job.grammar, job.content) for job in jobs]
