"""Personas with words in braces."""

from __future__ import annotations

from podium.workflow.merge.placeholders import fill_placeholders
from podium.workflow.source.nodes import Node, SourceLocation, fields, node_from_value

PLACE = SourceLocation("roles.yaml", 1, 1)
TEXTS = {"prompts/a.md": "One {drafts}\nTwo {{ x }} {% y %} {z}"}


def filled(**role: object) -> Node:
    return fill_placeholders(node_from_value(role, PLACE), TEXTS)


def test_a_declared_word_is_filled_and_everything_else_is_literal() -> None:
    system = fields(filled(system="prompts/a.md", placeholders={"drafts": "{{ d }}", "none": ""}))["system"]

    assert system.value == "One {{ '' }}{{ d }}{{ '' }}\nTwo {{ '{{' }} x }} {{ '{%' }} y %} {z}"


def test_a_role_without_words_or_without_a_text_of_its_own_stays_as_it_is() -> None:
    assert fields(filled(system="prompts/a.md"))["system"].value == "prompts/a.md"
    assert fields(filled(system="prompts/b.md", placeholders={"a": "b"}))["system"].value == "prompts/b.md"
    assert set(fields(filled(touches=[], placeholders={"a": "b"}))) == {"touches"}
