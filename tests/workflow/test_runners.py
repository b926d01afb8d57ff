"""Commands that run tests are recognised, in whatever words they are started."""

from __future__ import annotations

import pytest

from podium.workflow.test_gates.runners import runner_of


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest", "pytest"),
        ("python -m pytest -q", "pytest"),
        (".venv/bin/pytest tests", "pytest"),
        ("/usr/bin/python3.12 -P -m pytest", "pytest"),
        ("uv run pytest", "pytest"),
        ("poetry run pytest -x", "pytest"),
        ("env CI=1 pytest", "pytest"),
        ("timeout 60 pytest", "pytest"),
        ("py.test", "pytest"),
        ("python3 -m unittest -q", "unittest"),
        ("node --test test/", "node"),
        ("npx vitest run", "vitest"),
        ("npx jest", "jest"),
        ("go test ./...", "go"),
        ("cargo test", "cargo"),
        ("cargo nextest run", "cargo"),
        ("npm test", "other"),
        ("npm --silent test", "other"),
        ("pnpm run test", "other"),
        ("make -j4 check", "other"),
        ("tox", "other"),
        ("python -m mypy", None),
        ("echo pytest", None),
        ("go vet ./...", None),
        ("cargo build", None),
        ("make dist", None),
        ("npm run lint", None),
        ("node build.js", None),
        ("python tests/run.py", "other"),
        ("bash ./tests/run.sh", "other"),
        ("nice -n 5 pytest", "pytest"),
        ("python -mpytest -q", "pytest"),
        ("coverage run -m pytest", "pytest"),
        ("yarn jest", "jest"),
        ("pnpm exec vitest run", "vitest"),
        ("yarn add jest", None),
        ("cargo t", "cargo"),
        ("bundle exec rspec", "other"),
        ("npm t", "other"),
        ("npm run test:unit", "other"),
        ("npm --prefix web run unit-tests", "other"),
        ("npm run build", None),
        ("npm install", None),
        ("make -C sub test", "other"),
        ("make lint test", "other"),
        ("nice make unit", "other"),
        ("make latest", None),
        ("echo make test", None),
        ("./gradlew test", "other"),
        ("mvn verify", "other"),
        ("python manage.py test", "other"),
        ("python app.py", None),
        ("python -c tests/run.py", None),
        ("", None),
    ],
)
def test_the_common_runners_are_recognised(command: str, runner: str | None) -> None:
    assert runner_of(command.split()) == runner


@pytest.mark.parametrize(
    ("script", "runner"),
    [
        ("set -e\ncd app && python -m pytest -q # all\n", "pytest"),
        ("A=1 python3 -m unittest", "unittest"),
        ("echo it's; pytest", "pytest"),
        ("make dist\necho done", None),
        ("", None),
    ],
)
def test_a_runner_is_recognised_in_a_script(script: str, runner: str | None) -> None:
    assert runner_of((), script) == runner


def test_a_runner_is_recognised_in_the_argument_of_a_shell() -> None:
    assert runner_of(("bash", "-ec", "cd app; pytest")) == "pytest"
    assert runner_of(("bash", "tools/x", "pytest")) is None
