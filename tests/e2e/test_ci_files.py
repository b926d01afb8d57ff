"""What `podium init --ci` writes: templates whose scripts work, and a program that reads a pull request (issue 20, B10)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import unquote

import pytest
import yaml

from podium.app.author.init import ci_files
from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

HEAD = "a" * 40
OLD = "b" * 40
FLOW = "podium: 1\nname: change\ninputs: {word: string}\nsteps:\n  say: {run: [echo, 'it says ${{ inputs.word }}'], output: text}\n"


class _Api(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, Any]] = {}
    tokens: ClassVar[list[str]] = []

    def do_GET(self) -> None:  # the name that the base class calls
        self.tokens.append(self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or "")
        answer = self.answers.get(unquote(self.path.split("?")[0]))
        self.send_response(404 if answer is None else 200)
        self.end_headers()
        self.wfile.write(answer.encode() if isinstance(answer, str) else json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@contextmanager
def api(answers: Mapping[str, Any]) -> Iterator[str]:
    handler = type("Api", (_Api,), {"answers": dict(answers), "tokens": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def github(status: str = "completed", conclusion: str = "failure") -> dict[str, Any]:
    base = "/repos/ada/words"
    return {
        f"{base}/commits/fix/1": {"sha": HEAD},
        f"{base}/commits/{HEAD}/check-runs": {
            "check_runs": [
                {
                    "id": 7,
                    "name": "tests",
                    "status": status,
                    "conclusion": conclusion,
                    "output": {"title": "1 failed"},
                },
                {"id": 8, "name": "lint", "status": "completed", "conclusion": "success", "output": None},
            ]
        },
        f"{base}/actions/jobs/7/logs": "start\nE assert 1 == 2\n",
        f"{base}/pulls": [{"number": 3}],
        f"{base}/pulls/3/reviews": [
            {"user": {"login": "eve"}, "state": "CHANGES_REQUESTED", "commit_id": OLD, "body": "old words"},
            {
                "user": {"login": "bob"},
                "state": "CHANGES_REQUESTED",
                "commit_id": HEAD,
                "body": "Name it better.",
            },
        ],
        f"{base}/pulls/3/comments": [
            {
                "user": {"login": "bob"},
                "path": "a.py",
                "line": 4,
                "original_commit_id": HEAD,
                "body": "Why 4?",
            },
            {
                "user": {"login": "bob"},
                "path": "a.py",
                "line": 1,
                "original_commit_id": OLD,
                "body": "settled",
            },
        ],
    }


def ask(folder: Path, kind: str, url: str, *args: str) -> subprocess.CompletedProcess[str]:
    program = folder / "state"
    program.write_text(
        next(text for path, text in ci_files("github").items() if path.name == "pull_request_state")
    )
    env = {**os.environ, "GITHUB_API_URL": url, "CI_API_V4_URL": url, "GH_TOKEN": "t", "GITLAB_TOKEN": "t"}
    command = (sys.executable, str(program), kind, *args)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


def test_failed_checks_and_remarks_about_the_newest_commit_are_the_answer(tmp_path: Path) -> None:
    with api(github()) as url:
        done = ask(tmp_path, "github", url, "ada/words", "fix/1")

    assert done.returncode == 1, done.stderr
    assert "check tests: failure\n1 failed\nstart\nE assert 1 == 2" in done.stdout
    assert "review of bob: changes requested\nName it better." in done.stdout
    assert "comment of bob at a.py:4\nWhy 4?" in done.stdout
    assert "old words" not in done.stdout and "settled" not in done.stdout


def test_a_check_that_still_runs_is_waited_for(tmp_path: Path) -> None:
    with api(github(status="in_progress")) as url:
        done = ask(tmp_path, "github", url, "ada/words", "fix/1")

    assert (done.returncode, done.stdout) == (8, "waiting for: tests\n")


def test_a_server_that_does_not_answer_is_asked_again(tmp_path: Path) -> None:
    done = ask(tmp_path, "github", "http://127.0.0.1:9", "ada/words", "fix/1")

    assert done.returncode == 8
    assert "cannot ask github" in done.stderr


def test_jobs_and_open_talks_of_gitlab_are_the_answer(tmp_path: Path) -> None:
    base = "/projects/ada/words"
    note = {"resolvable": True, "resolved": False, "author": {"username": "bob"}, "body": "Why 4?"}
    answers = {
        f"{base}/repository/branches/fix/1": {"commit": {"id": HEAD}},
        f"{base}/pipelines": [{"id": 5}],
        f"{base}/pipelines/5/jobs": [
            {"id": 7, "name": "tests", "status": "failed"},
            {"id": 8, "name": "may", "status": "failed", "allow_failure": True},
        ],
        f"{base}/jobs/7/trace": "E assert 1 == 2\n",
        f"{base}/merge_requests": [{"iid": 3}],
        f"{base}/merge_requests/3/discussions": [
            {"notes": [note, {**note, "resolved": True, "body": "settled"}]},
        ],
    }
    with api(answers) as url:
        done = ask(tmp_path, "gitlab", url, "ada/words", "fix/1")

    assert done.returncode == 1, done.stderr
    assert "job tests: failed\nE assert 1 == 2" in done.stdout
    assert "comment of bob\nWhy 4?" in done.stdout
    assert "settled" not in done.stdout and "may" not in done.stdout


def with_ci(folder: Path, kind: str) -> Project:
    project = new_project(folder, {"workflows/change.yaml": FLOW})
    done = project.podium("init", "--ci", kind, "--yes")
    assert done.code == 0, done.err
    return project


def shell(project: Project, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    programs = project.folder / "programs"
    programs.mkdir(exist_ok=True)
    said = project.folder / "said.txt"
    for name, text in {
        "podium": f'exec {sys.executable} -m podium "$@"\n',
        "gh": f'echo "gh $*" >> {said}\n',
        "curl": f'echo "curl $*" >> {said}\n',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}")
        (programs / name).chmod(0o755)
    environment = project.environment()
    environment |= {"PATH": f"{programs}:{environment['PATH']}", **env}
    command = ("bash", "-e", "-o", "pipefail", "-c", script)
    return subprocess.run(
        command, cwd=project.root, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("word", ["hello", "$(touch planted) `touch planted`; '\""])
def test_the_scripts_of_the_github_template_run_and_report(tmp_path: Path, word: str) -> None:
    with closing(with_ci(tmp_path, "github")) as project:
        document = yaml.safe_load((project.root / ".github/workflows/podium.yml").read_text())
        steps = {step["name"]: step for step in document["jobs"]["podium"]["steps"] if "name" in step}
        scripts = [steps["Run"]["run"], steps["Report"]["run"]]
        assert not any("${{" in script for script in scripts), (
            "no text of an event may become part of a script"
        )
        temp = project.folder / "temp"
        temp.mkdir()
        env = {
            "FILE": "workflows/change.yaml",
            "INPUTS": json.dumps({"word": word}),
            "PULL_REQUEST": "17",
            "RUNNER_TEMP": str(temp),
            "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
        }
        for script in scripts:
            done = shell(project, script, **env)
            assert done.returncode == 0, done.stderr

        assert json.loads((temp / "run.json").read_text())["outcome"] == "passed"
        assert "change" in (temp / "summary.md").read_text()
        assert (temp / "report.html").stat().st_size > 1000
        assert "gh pr comment 17 --body-file" in (project.folder / "said.txt").read_text()
        assert not (project.root / "planted").exists()


def test_the_scripts_of_the_gitlab_template_run_and_report(tmp_path: Path) -> None:
    with closing(with_ci(tmp_path, "gitlab")) as project:
        job = yaml.safe_load((project.root / ".gitlab/podium.yml").read_text())["podium"]
        env = {
            **job["variables"],
            "PODIUM_INPUTS": '{"word": "hello"}',
            "CI_MERGE_REQUEST_IID": "4",
            "GITLAB_TOKEN": "t",
            "CI_API_V4_URL": "http://127.0.0.1:9",
            "CI_PROJECT_ID": "1",
        }
        for lines in (job["script"], job["after_script"]):
            done = shell(project, "\n".join(lines), **env)
            assert done.returncode == 0, done.stderr

        assert (project.root / "podium-report/report.html").stat().st_size > 1000
        assert "merge_requests/4/notes" in (project.folder / "said.txt").read_text()


def test_files_that_exist_stay(tmp_path: Path) -> None:
    with closing(with_ci(tmp_path, "github")) as project:
        file = project.root / ".github/workflows/podium.yml"
        file.write_text("mine\n")
        again = project.podium("init", "--ci", "github", "--yes")

        assert "exists and is not changed" in again.err
        assert file.read_text() == "mine\n"
        assert project.podium("init", "--ci", "github", "--template", "mvp").code == 2
