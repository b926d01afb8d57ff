"""What steers the tools that a gate starts: their settings, manifests, and files that take the place of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.queries.steps import top_steps
from podium.workflow.test_gates.files import matches_any
from podium.workflow.test_gates.listing import has_earlier_files, steering_of, steering_of_step
from podium.workflow.test_gates.manifests import is_steered
from podium.workflow.test_gates.runners import direct_runner, goals_of, linters_of
from podium.workflow.test_gates.steering import TOOLS, all_steering_globs, steering_globs
from tests.workflow.compiling import compile_text


@pytest.mark.parametrize(
    ("command", "linters"),
    [
        ("ruff check .", ("ruff",)),
        ("python3 -m mypy src", ("mypy",)),
        ("npx --no-install eslint src", ("eslint",)),
        ("npx tsc --noEmit", ("tsc",)),
        (".venv/bin/flake8 src", ("flake8",)),
        ("cargo clippy -- -D warnings", ("clippy",)),
        ("cargo fmt --check", ("clippy",)),
        ("go vet ./...", ("go",)),
        ("make lint", ("other",)),
        ("npm run lint", ("other",)),
        ("pre-commit run -a", ("other",)),
        ("make dist", ()),
        ("npm run build", ()),
        ("python app.py", ()),
        ("", ()),
    ],
)
def test_tools_that_judge_code_without_running_it_are_recognised(
    command: str, linters: tuple[str, ...]
) -> None:
    assert linters_of(command.split()) == linters
    assert linters_of((), command) == linters


def test_nothing_starts_no_runner() -> None:
    assert direct_runner(()) is None


def test_the_goals_of_make_are_known() -> None:
    assert goals_of(("make", "-j4", "check", "lint")) == {"check", "lint"}
    assert goals_of((), "cd app && make check\nmake dist") == {"check", "dist"}
    assert goals_of(("pytest", "check")) == frozenset()


def test_a_linter_is_steered_by_its_own_files_and_tests_by_those_of_all_runners() -> None:
    assert set(steering_of(("ruff", "check"), None)) == set(steering_globs("ruff"))
    assert "**/ruff.toml" not in steering_of(("pytest",), None)
    assert {"**/ruff.toml", "**/pytest.ini"} <= set(steering_of((), "ruff check . && pytest"))
    assert set(steering_of(("make", "lint"), None)) == set(all_steering_globs())
    assert set(steering_of(("tools/unknown",), None)) == set(steering_globs())


def test_a_link_in_the_place_of_a_folder_of_settings_steers_too() -> None:
    assert matches_any(steering_globs(), ".cargo")
    assert not matches_any(steering_globs("ruff"), ".cargo")


def test_the_table_of_tools_has_no_row_twice() -> None:
    rows = [(tool.name, file.glob) for tool in TOOLS for file in tool.files]

    assert len(rows) == len(set(rows))
    assert all(file.effect for tool in TOOLS for file in tool.files)


def test_linters_and_tests_are_judged_with_earlier_files_and_other_commands_are_not(
    tmp_path: Path,
) -> None:
    compiled = compile_text(
        tmp_path,
        "\nsteps:\n"
        "  lint: {run: ruff check .}\n  test: {run: pytest}\n  open: {run: pytest, tests: false}\n  other: {run: echo}\n"
        "  ask: {human: Fine}\n",
    )
    steps = {step.name: step.verb for step in top_steps(compiled)}

    assert [name for name, verb in steps.items() if has_earlier_files(verb)] == ["lint", "test"]
    assert "**/ruff.toml" in steering_of_step(steps["lint"])
    assert steering_of_step(steps["ask"]) == ()


def test_settings_in_protect_stand_for_the_files_that_steer_tools(tmp_path: Path) -> None:
    compiled = compile_text(tmp_path, '\nsteps:\n  lint: {run: ruff check ., protect: ["a/**", $SETTINGS]}\n')
    (step,) = top_steps(compiled)
    protected = step.settings.protect

    assert {"a/**", "**/pytest.toml", "**/eslint.config.*"} <= set(protected)
    assert "$SETTINGS" not in protected


CARGO = '[package]\nname = "app"\nversion = "0.1.0"\n[dependencies]\na = "1"\n[dev-dependencies]\nb = {path = "b"}\n'


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (CARGO, CARGO + '[build-dependencies]\nc = "1"\n', False),
        (CARGO, CARGO.replace('a = "1"', 'a = "2"\nnew = {git = "x"}'), False),
        (CARGO, CARGO.replace("0.1.0", "0.2.0"), False),
        (CARGO, CARGO.replace('"b"}', '"fake"}'), True),
        (CARGO, CARGO.replace('a = "1"', 'a = {path = "fake"}'), True),
        (CARGO, CARGO.replace("[dep", "autotests = false\n[dep"), True),
        (CARGO, CARGO + "[profile.test]\ndebug-assertions = false\n", True),
        (CARGO, CARGO + '[target."cfg(unix)".dependencies]\nc = "1"\n', False),
        (CARGO, "no toml", True),
        (None, CARGO, False),
        (CARGO, None, True),
    ],
)
def test_a_cargo_manifest_counts_unless_only_dependencies_are_new(
    before: str | None, now: str | None, expected: bool
) -> None:
    contents = (None if text is None else text.encode() for text in (before, now))

    assert is_steered("Cargo.toml", *contents) is expected


GO_MOD = "module x\n\ngo 1.19\n\nrequire a v1 // indirect\n"


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (GO_MOD + "\nrequire (\n\tb v1\n\tc v2\n)\n", False),
        (GO_MOD + "\nreplace a => ./fake\n", True),
        (GO_MOD + "\nrequire (\n\tb v1\n)\nreplace a => ./fake\n", True),
        (GO_MOD.replace("1.19", "1.22"), True),
    ],
)
def test_a_go_manifest_counts_unless_only_requirements_are_new(now: str, expected: bool) -> None:
    assert is_steered("sub/go.mod", GO_MOD.encode(), now.encode()) is expected
