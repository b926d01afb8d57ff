"""An unknown key gets a hint: the word of another tool, the nearest key, or all keys of a small map."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import ConfigurationError
from podium.workflow.scripted.cast import names_list_of, read_cast


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ("{match: {agent: claude}}", "write step: NAME/MEMBER"),
        ("{match: {place: write}}", "its keys: step, visit, attempt, iteration, prompt"),
        ("{match: {stp: write}}", 'did you mean "step"?'),
        ("{decision: reject}", "write verdict: {decision: reject, score: 4}"),
    ],
)
def test_a_rule_of_a_cast(tmp_path: Path, rule: str, hint: str) -> None:
    cast = tmp_path / "cast.yaml"
    cast.write_text(f"rules: [{rule}]\n", "utf-8")

    with pytest.raises(ConfigurationError) as caught:
        read_cast(cast)

    assert hint in str(caught.value) + str(caught.value.problems)


@pytest.mark.parametrize(
    ("written", "path", "is_meant"),
    [
        ("vote", "vote/claude", True),
        ("vote", "vote~2/claude_2", True),
        ("judge", "write#1/judge/claude", True),
        ("write", "write#1/judge/claude", False),
        ("group", "group/fix", False),
        ("write", "write#1/claude", False),
    ],
)
def test_a_rule_may_name_the_list_of_a_member(written: str, path: str, is_meant: bool) -> None:
    assert names_list_of(written, path, "claude", "") is is_meant
