"""The environment of a child, and launches that are refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from podium.errors import ConfigurationError
from podium.process.environment import minimal_env
from podium.redaction.mask import Mask
from tests.process.kit import finish, launch

HOST = {"HOME": "/home/me", "PATH": "/bin:.::relative:/usr/bin", "AWS_SECRET": "no", "EDITOR": "vi"}


@pytest.mark.req("R009", "R184", "C15")
def test_only_declared_variables_are_inherited() -> None:
    assert minimal_env(host=HOST) == {
        "HOME": "/home/me",
        "LANG": "C.UTF-8",
        "PATH": "/bin:/usr/bin",
        "TERM": "dumb",
    }


def test_a_variable_is_inherited_by_name() -> None:
    assert minimal_env(host=HOST, inherit=["EDITOR", "MISSING"])["EDITOR"] == "vi"


@pytest.mark.req("R185")
def test_a_secret_wins_over_a_variable_of_the_same_name() -> None:
    env = minimal_env({"TOKEN": "plain", "A": "1"}, {"TOKEN": "secret"}, host=HOST)

    assert (env["TOKEN"], env["A"]) == ("secret", "1")


def test_a_path_with_only_relative_folders_is_replaced() -> None:
    assert minimal_env(host={"PATH": ".:bin"})["PATH"] == "/usr/local/bin:/usr/bin:/bin"


@pytest.mark.parametrize("extra", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "x\0"}])
def test_invalid_variables_are_refused(extra: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        minimal_env(extra, host=HOST)


@pytest.mark.req("R184")
def test_a_real_child_sees_only_its_environment_and_the_marker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAK", "leaked")
    start = launch("/usr/bin/env", env={"ONLY": "this"})

    lines = finish(start).stdout.text().splitlines()

    assert sorted(line.split("=")[0] for line in lines) == ["ONLY", "PODIUM_MARKER"]
    assert f"PODIUM_MARKER={start.marker}/" in "\n".join(lines)


@pytest.mark.parametrize(
    ("argv", "changes", "complaint"),
    [
        ((), {}, "argv is empty"),
        (("",), {}, "argv is empty"),
        (("true", "a\0b"), {}, "argument 1 .* NUL"),
        (("true",), {"marker": "a/b/c/d/e"}, "marker"),
        (("true",), {"marker": "short"}, "marker"),
        (("true",), {"env": {"A=": ""}}, "not a valid name"),
        (("true", "--key=hush-hush"), {"mask": Mask({"key": "hush-hush"})}, "argument 1 .* secret"),
    ],
)
def test_an_invalid_launch_is_refused(argv: tuple[str, ...], changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        launch(*argv, **changes)


@pytest.mark.req("R184")
def test_the_repr_of_a_launch_hides_its_environment_and_input() -> None:
    shown = repr(
        launch("true", env={"KEY": "hush-hush"}, stdin=b"hush-hush", mask=Mask({"KEY": "hush-hush"}))
    )

    assert "hush-hush" not in shown
