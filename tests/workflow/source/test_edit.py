"""Adding to a list in a file changes nothing else: comments, quotes, line ends and the order of keys stay."""

from __future__ import annotations

import pytest

from podium.workflow.source.edit import add_to_list

COMPONENTS = ("parts", "api")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "parts:\n  api:  # serves\n    does: x\nlast: 1\n",
            "parts:\n  api:  # serves\n    does: x\n    needs: [store, log]\nlast: 1\n",
            id="a new key of a block",
        ),
        pytest.param(
            "parts: {api: {does: x}}  # short\n",
            "parts: {api: {does: x, needs: [store, log]}}  # short\n",
            id="a new key of a map in one line",
        ),
        pytest.param(
            "parts:\n  api: {needs: [a]}\n",
            "parts:\n  api: {needs: [a, store, log]}\n",
            id="a list in one line",
        ),
        pytest.param(
            "parts: {api: {needs: []}}\n", "parts: {api: {needs: [store, log]}}\n", id="an empty list"
        ),
        pytest.param(
            "parts:\n  api:\n    needs:\n      - a   # first\n    does: x\n",
            "parts:\n  api:\n    needs:\n      - a   # first\n      - store\n      - log\n    does: x\n",
            id="a list of lines",
        ),
        pytest.param(
            "parts:\n  api:\n    does: |\n      one\n      two\n\nlast: 1\n",
            "parts:\n  api:\n    does: |\n      one\n      two\n    needs: [store, log]\n\nlast: 1\n",
            id="after a long text",
        ),
        pytest.param(
            "parts:\r\n  api:\r\n    does: x\r\n",
            "parts:\r\n  api:\r\n    does: x\r\n    needs: [store, log]\r\n",
            id="line ends of Windows",
        ),
        pytest.param(
            "parts:\n  api:\n    inner:\n      deep: [1]",
            "parts:\n  api:\n    inner:\n      deep: [1]\n    needs: [store, log]",
            id="no line end at the end of the file",
        ),
    ],
)
def test_values_are_added_at_the_end_and_nothing_else_changes(text: str, expected: str) -> None:
    assert add_to_list(text, COMPONENTS, "needs", ("store", "log")) == expected


@pytest.mark.parametrize(
    "text",
    [
        "parts: {web: {does: x}}\n",
        "parts: [api]\n",
        "parts: {api: {}}\n",
        "parts: {api: {needs: store}}\n",
    ],
)
def test_a_file_of_another_shape_is_left_alone(text: str) -> None:
    assert add_to_list(text, COMPONENTS, "needs", ("store",)) is None
