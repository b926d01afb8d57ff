"""Each rule of secret_rules.toml finds what it is for, and leaves alone what only looks like it."""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter

import pytest

from podium.redaction.rules import FILE, PLACEHOLDER, Rule, read_rules
from podium.redaction.scan import SecretMatch, find
from tests.redaction.secret_samples import SAMPLES, filled

ROUNDS = 5
FOUND = [(name, shape) for name, samples in SAMPLES.items() for shape in samples.found]
MISSED = [(name, shape) for name, samples in SAMPLES.items() for shape in samples.missed]
WRAPS = ("It is {} since Monday.", "- {}", '"{}"', "<a>{}</a>", "({})\n", "x = '{}';", "{}")


def drawn(shape: str) -> list[str]:
    """Some values of a shape, without those that say by chance that they are only an example."""
    draw = random.Random(shape)
    values = (filled(shape, draw) for _ in range(ROUNDS * 3))
    return [value for value in values if not PLACEHOLDER.search(value)][:ROUNDS]


@pytest.mark.req("C39")
@pytest.mark.parametrize(("name", "shape"), FOUND)
def test_a_key_is_found_whatever_stands_around_it(name: str, shape: str) -> None:
    for value in drawn(shape):
        for wrap in WRAPS:
            text = wrap.format(value)
            [match] = find(text)
            assert match.rule == name, text
            # A password is followed by its host; a private key that is not ended may be longer than it looks.
            assert match.end == text.index(value) + len(value) or name in ("password_in_url", "private_key")


@pytest.mark.req("C39")
@pytest.mark.parametrize(("name", "shape"), MISSED)
def test_a_near_miss_is_left_alone(name: str, shape: str) -> None:
    for value in drawn(shape):
        for wrap in WRAPS:
            assert find(wrap.format(value)) == (), wrap.format(value)


def test_every_rule_has_samples_and_every_literal_of_it_is_tried() -> None:
    assert set(SAMPLES) == {rule.name for rule in read_rules()}
    tried = Counter(
        (rule.name, literal)
        for rule in read_rules()
        for shape in SAMPLES[rule.name].found
        for literal in rule.literals
        if literal in shape
    )
    assert [
        (rule.name, literal)
        for rule in read_rules()
        for literal in rule.literals
        if not tried[rule.name, literal]
    ] == []


@pytest.mark.parametrize("rule", read_rules(), ids=lambda rule: rule.name)
def test_whatever_a_pattern_finds_begins_with_one_of_its_literals(rule: Rule) -> None:
    """Otherwise a pattern would be tried where it cannot match, and not where it can."""
    for shape in SAMPLES[rule.name].found:
        for value in drawn(shape):
            match = rule.pattern.search(f" {value} ")
            assert match is not None
            assert match[0].startswith(rule.literals)


def test_a_key_that_is_named_an_example_is_left_alone() -> None:
    assert find("ghp_" + "example" * 6) == ()


def test_rules_have_one_name_each_and_no_key_that_is_not_read() -> None:
    entries = tomllib.loads(FILE.read_text("utf-8"))["rules"]
    names = [entry["name"] for entry in entries]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)
    assert {key for entry in entries for key in entry} == {"name", "literals", "pattern", "inside", "ends"}


def test_of_two_rules_the_one_that_takes_more_speaks() -> None:
    value = filled("sk-ant-api03-{w95}", random.Random(1))
    assert find(value) == (SecretMatch("anthropic_key", 0, len(value)),)
