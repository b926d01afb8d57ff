"""`workspace: {history, refs}`: a command reads history from a repository of its own, and nothing else of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FILE = "w.yaml"
LEVELS = pytest.mark.parametrize("level", ["none", "limits", "bubblewrap"])


def project_with_history(folder: Path, step: str, *more: str) -> Project:
    text = f"podium: 1\nname: history\nsteps:\n  change: {{run: {{script: echo 4 > f}}, touches: [f]}}\n  read:\n    {step}\n"
    project = new_project(folder / "place", {"f": "0\n"})
    for number in (1, 2, 3):
        project.commit({"f": f"{number}\n"}, f"commit {number}")
    project.commit({FILE: text + "".join(f"    {line}\n" for line in more)}, "workflow")
    project.git("tag", "-a", "v1", "-m", "first", "HEAD~2")
    project.git("branch", "rel/1", "HEAD~3")
    project.git("branch", "private", "HEAD~1")
    project.git("branch", "podium", "HEAD~1")
    project.git("config", "remote.origin.url", "https://token@example.invalid/x")
    return project


def output(project: Project, level: str, code: int = 0) -> str:
    done = project.podium("run", FILE, "--sandbox", level, "--json")
    assert done.code == code, done.err
    return project.podium("logs", done.data()["run"], "read").out


@LEVELS
def test_head_is_the_tree_of_the_run_and_only_the_named_refs_exist(tmp_path: Path, level: str) -> None:
    script = (
        "git log --format=%s; git diff HEAD~1 --stat; git blame -s f; git status --porcelain; "
        "git show-ref; git remote -v; git config --get-all remote.origin.url; git cat-file -t v1; true"
    )
    step = f'run: {{script: "{script}"}}'
    with closing(
        project_with_history(tmp_path, step, 'workspace: {history: full, refs: ["rel/*", v1]}')
    ) as project:
        text = output(project, level)

    assert "Work so far\nworkflow\ncommit 3\ncommit 2\ncommit 1\n" in text
    assert "1 file changed, 1 insertion(+), 1 deletion(-)" in text
    assert "1) 4" in text
    assert "refs/heads/rel/1" in text and "refs/tags/v1" in text and "\ntag\n" in text
    assert "private" not in text
    assert "token" not in text
    assert "origin" not in text


def test_the_number_of_commits_can_be_chosen(tmp_path: Path) -> None:
    with closing(
        project_with_history(tmp_path, "run: git log --format=%s", "workspace: {history: 2}")
    ) as project:
        text = output(project, "limits")

    assert "Work so far\nworkflow\ncommit 3\n" in text
    assert "commit 2" not in text


@LEVELS
def test_a_command_cannot_change_the_repository_of_the_project(tmp_path: Path, level: str) -> None:
    attack = (
        "git commit -q --allow-empty -m evil; git branch evil; git tag evil; git update-ref refs/heads/main HEAD~1; "
        "git config core.hooksPath /tmp/evil; mkdir -p .git/hooks; echo evil > .git/hooks/post-checkout; "
        "chmod +x .git/hooks/post-checkout; echo /nowhere > .git/objects/info/alternates; "
        "git gc -q --prune=now; rm -rf .git/objects/pack; git push -q origin HEAD; "
        "cat .git/objects/info/alternates .git/commondir .git/config 2>/dev/null | grep -v core; echo done"
    )
    step = f'run: {{script: "{attack}"}}'
    more = ("workspace: {history: full}", "gates: [{name: still, run: git log --format=%s}]")
    with closing(project_with_history(tmp_path, step, *more)) as project:
        before = project.git("show-ref"), (project.root / ".git/config").read_text("utf-8")
        hooks = sorted(path.name for path in (project.root / ".git/hooks").glob("*"))
        text = output(project, level)

        assert "done" in text
        assert str(project.root / ".git/objects") not in text
        refs = "\n".join(line for line in project.git("show-ref").split("\n") if "refs/podium/" not in line)
        assert refs.strip() == before[0].strip()
        assert (project.root / ".git/config").read_text("utf-8") == before[1]
        assert sorted(path.name for path in (project.root / ".git/hooks").glob("*")) == hooks
        assert project.git("fsck", "--connectivity-only") is not None
        if level == "bubblewrap":
            assert "Read-only file system" in text


def test_what_a_step_changes_is_captured_without_the_repository(tmp_path: Path) -> None:
    step = 'run: {script: "git log --format=%s > log.txt; echo x > .git/extra; true"}'
    with closing(
        project_with_history(tmp_path, step, "touches: [log.txt]", "workspace: {history: 3}")
    ) as project:
        run = project.podium("run", FILE, "--sandbox", "limits", "--json").data()["run"]
        changed = project.podium("diff", run).out

    assert "+commit 3" in changed
    assert ".git/extra" not in changed


def test_a_ref_that_does_not_exist_ends_the_step_with_its_name(tmp_path: Path) -> None:
    with closing(project_with_history(tmp_path, "run: git log", "workspace: {refs: [v9]}")) as project:
        done = project.podium("run", FILE, "--sandbox", "limits", "--json")

    [_, read] = done.data()["steps"]
    assert read["outcome"] == "error"
    assert "no branch or tag is named v9" in read["message"]


def test_mistakes_about_repositories_are_reported(tmp_path: Path) -> None:
    with closing(project_with_history(tmp_path, "run: git log", "workspace: {history: 0}")) as project:
        zero = project.podium("validate", FILE)
        project.put(
            {
                FILE: project.root.joinpath(FILE)
                .read_text("utf-8")
                .replace("history: 0", "mode: inplace, history: 3")
            }
        )
        inplace = project.podium("validate", FILE)
        project.put({FILE: "podium: 1\nname: x\nsteps: {a: {run: git log}}\n"})
        without = project.podium("validate", FILE)

    assert '"history" must be full or a number of commits' in zero.err + zero.out
    assert "a step that works in the project itself has its whole history" in inplace.err + inplace.out
    assert "workspace: {history: 20}" in without.err + without.out
