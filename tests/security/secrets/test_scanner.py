"""The scanner over prompts: what it finds in a corpus that the rules were not written for, and how fast."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.redaction.scan import find, scrub
from tests.attempt.agent_attempts import ask
from tests.git.kit import Project, new_project
from tests.security.secrets.corpus import Maker
from tests.timing import best_of, work_of, work_within

SEEDS = (11, 12)


@pytest.mark.security
@pytest.mark.req("R184", "C39")
@pytest.mark.parametrize("seed", SEEDS)
def test_nearly_all_secrets_of_the_corpus_are_taken_out(seed: int) -> None:
    cases = list(Maker(seed).positives())
    left = [text for text, value in cases if value in scrub(text).text]

    assert len(cases) >= 200
    assert len(left) <= 0.05 * len(cases), left


@pytest.mark.req("C39")
@pytest.mark.security
@pytest.mark.parametrize("seed", SEEDS)
def test_hashes_identifiers_images_lock_files_and_minified_code_are_left_alone(seed: int) -> None:
    cases = list(Maker(seed).negatives())
    struck = [(text, scrub(text).text) for text in cases if find(text)]

    assert len(cases) >= 1000
    assert len(struck) <= 0.02 * len(cases), struck[:10]


@pytest.mark.security
def test_ten_megabytes_are_read_at_a_megabyte_a_second() -> None:
    """Of what is worst for it: source code that speaks of keys and tokens on every other line."""
    sources = (path.read_text("utf-8") for path in sorted((Path(__file__).parents[3] / "src").rglob("*.py")))
    code = "\n".join(sources)
    text = (code * (10_000_000 // len(code) + 1))[:10_000_000]

    best_of(3, lambda _: work_of(lambda: find(text), rounds=1), under=10.0)


@pytest.mark.security
def test_no_text_makes_it_slow() -> None:
    for text in (
        "key=" * 250_000,
        "://" * 300_000,
        "a" * 1_000_000,
        "-----BEGIN " * 90_000,
        "token:" + " " * 900_000,
    ):
        with work_within(20):
            find(text)


def test_a_find_is_replaced_by_the_name_of_its_rule_and_the_text_around_it_stays() -> None:
    value = "gh" + "p_" + "a1B2" * 9
    done = scrub(f"before {value} after, PASSWORD=k3-yellow-horses")

    assert done.text == "before [removed: github_token] after, PASSWORD=[removed: named_secret]"
    assert done.counts == {"github_token": 1, "named_secret": 1}
    assert scrub("nothing here") == ("nothing here", {})


@pytest.mark.req("R091", "R184")
def test_what_a_file_or_a_failed_gate_brings_into_a_prompt_is_taken_out_and_said(tmp_path: Path) -> None:
    value = "gh" + "p_" + "a1B2" * 9
    project: Project = new_project(
        tmp_path, {"src/app.py": f"TOKEN = '{value}'\n", "fail.sh": f"echo {value}; exit 1\n"}
    )
    flow = """
        steps:
          it:
            agent: w
            prompt: Mend it
            context: [src/**]
            touches: ["out.txt"]
            gates: [{run: [sh, fail.sh]}]
            retry: {attempts: 2, on_exhausted: fail}
    """
    cast = "- match: {step: it}\n  write: {out.txt: done}\n"
    asked, played = ask(project, tmp_path, flow, cast)

    for attempt in (1, 2):
        assert value not in asked.log("it", attempt, "prompt.md")
        assert "[removed: github_token]" in asked.log("it", attempt, "prompt.md")
        assert '"github_token"' in asked.log("it", attempt, "attempt.json")
    assert played.answers("it")[1].result is not None
    assert (played.answers("it")[1].result or {})["removed"]["github_token"] >= 2
    assert any("looks like a secret): github_token" in seen.text for _, seen in asked.seen)
